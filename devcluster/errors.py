"""The one exception that reaches the command line as a sentence instead of a traceback."""


class DevclusterError(Exception):
    """Something a person has to know or mend; the message says what and how."""
