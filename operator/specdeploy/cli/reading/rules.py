"""Rules on the file: what can be wrong with it before anything in it is understood.

Their examples are whole files; those of all other rules are parts of a spec.
"""

from specdeploy.api.rule import Rule, Severity

_KUBERNETES = "Kubernetes: the API server's validation of custom resources"
_YAML = "YAML 1.1, as kubectl reads it"
_OURS = "SpecDeployment's schema (`specdeploy crd`)"

_HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma}\n"
_SPEC = "spec: {model: google/gemma-4-26B-A4B-it, replicas: 4}\n"
_GOOD = _HEAD + _SPEC
_TWO_VARIABLES = """spec:
  model: google/gemma-4-26B-A4B-it
  engine:
    env:
      - {{name: {}, value: x}}
      - {{name: {}, value: y}}
"""


def _rule(
    code: str, name: str, title: str, *, why: str, refused: str, passed: str = _GOOD, source: str = _YAML
) -> Rule:
    return Rule(code, name, Severity.ERROR, title, why, source, refused, passed)


VALUE = _rule(
    "SD001",
    "value",
    "A value has another type, or lies outside of its bounds",
    why="The API server refuses the object, so nothing of it is applied.",
    source=_OURS,
    refused=_HEAD + "spec: {model: google/gemma-4-26B-A4B-it, replicas: -1}\n",
)
UNKNOWN_FIELD = _rule(
    "SD002",
    "unknown-field",
    "A field that does not exist",
    why="Where the API server is not asked to be strict it drops the field without an error, and the default "
    "is in force.",
    source=_KUBERNETES + ", pruning",
    refused=_HEAD + "spec: {model: google/gemma-4-26B-A4B-it, replica: 4}\n",
)
QUOTED = _rule(
    "SD003",
    "quotes",
    "A number in quotes, or text without them",
    why='To YAML `4` is a number and `"4"` is text; the API server takes only what the field asks for.',
    source=_KUBERNETES,
    refused=_HEAD + 'spec: {model: google/gemma-4-26B-A4B-it, replicas: "4"}\n',
)
MISSING_FIELD = _rule(
    "SD004",
    "missing-field",
    "A required field is missing",
    why="The API server refuses the object, so nothing of it is applied.",
    source=_OURS,
    refused=_HEAD + "spec: {replicas: 4}\n",
)
ADMISSION = _rule(
    "SD005",
    "admission",
    "Fields that contradict each other",
    why="A CEL rule of the CustomResourceDefinition refuses the object. The same rule is applied here.",
    source=_OURS,
    refused=_HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n  promotion: {steps: [50, 25, 100]}\n",
    passed=_HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n  promotion: {steps: [25, 50, 100]}\n",
)
OBJECT_NAME = _rule(
    "SD006",
    "object-name",
    "A name that can't name Services and Deployments",
    why="Children are named after the object: a DNS label that begins with a letter, with room for the "
    "drafter's name and a hash.",
    source=_OURS,
    refused=_GOOD.replace("{name: gemma}", "{name: 4-gemma}"),
)
TWICE = _rule(
    "SD007",
    "twice",
    "Two items of a list have the same name",
    why="Such a list is merged by name when it is applied: one of the two would be lost, so it is refused.",
    source=_KUBERNETES + ", list maps",
    refused=_HEAD + _TWO_VARIABLES.format("A", "A"),
    passed=_HEAD + _TWO_VARIABLES.format("A", "B"),
)
OTHER_KIND = _rule(
    "SD008",
    "other-kind",
    "A kind, group or version that does not exist",
    why="No API server knows it; the object would not be created, and `lint` can't read it.",
    source=_OURS,
    refused=_GOOD.replace("v1alpha1", "v1"),
)
NOT_YAML = _rule(
    "SD010",
    "yaml",
    "The file is no YAML",
    why="kubectl can't read it either. Documents before the mistake are still checked.",
    refused=_HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n replicas: 4\n",
)
TAB = _rule(
    "SD011",
    "tab",
    "A tab in the indentation",
    why="YAML is indented with spaces; a tab looks the same in an editor and ends the document.",
    refused=_HEAD + "spec:\n\tmodel: google/gemma-4-26B-A4B-it\n",
)
UNCLOSED = _rule(
    "SD012",
    "unclosed",
    "A quote or a bracket is not closed",
    why="Everything after it is taken for a part of the value; the place named is where it opens.",
    refused=_HEAD + 'spec: {model: "google/gemma-4-26B-A4B-it, replicas: 4}\n',
)
DUPLICATE_KEY = _rule(
    "SD013",
    "duplicate-key",
    "A key stands twice in one object",
    why="Readers differ in which one they take; kubectl refuses the file.",
    refused=_HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n  replicas: 4\n  replicas: 8\n",
)
ODD_KEY = _rule(
    "SD014",
    "odd-key",
    "A key that is a list or an object",
    why="JSON, which is what the API server gets, has only text for keys.",
    refused=_HEAD + "spec: {model: google/gemma-4-26B-A4B-it, ? [a, b] : 4}\n",
)
ALIAS_OF_NOTHING = _rule(
    "SD015",
    "alias",
    "An alias without an anchor",
    why="`*name` stands for what `&name` marked before it in the same document.",
    refused=_HEAD + "spec: {model: *model, replicas: 4}\n",
    passed=_HEAD + "spec: {model: &model google/gemma-4-26B-A4B-it, servedModelName: *model}\n",
)
RECURSIVE_ALIAS = _rule(
    "SD016",
    "recursive-alias",
    "An alias inside of what it stands for",
    why="It would never end, and JSON can't hold it.",
    refused=_HEAD + "spec: &spec {model: google/gemma-4-26B-A4B-it, engine: *spec}\n",
)
TOO_MANY_VALUES = _rule(
    "SD017",
    "too-many-values",
    "Too many values, aliases counted as what they stand for",
    why="Nine lines of aliases of aliases can stand for a thousand million values: a known way to exhaust "
    "whatever reads them.",
    refused="a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdef", "bcdefg", strict=True)
    ),
)
TOO_DEEP = _rule(
    "SD018",
    "too-deep",
    "Nested deeper than 100 levels",
    why="No object of Kubernetes is; what reads it may run out of stack.",
    refused="a: " + "[" * 101 + "]" * 101 + "\n",
)
UNREADABLE = _rule(
    "SD019",
    "unreadable",
    "The file can't be read, is no UTF-8 text or is larger than 16 MiB",
    why="etcd takes objects of about 1.5 MiB; a file of this size is no manifest.",
    source="Kubernetes: UTF-8 on the wire; etcd's default limit of a request",
    refused="(a file that is no text)",
)
TEMPLATE = _rule(
    "SD020",
    "template",
    "A template that is not filled in",
    why="To YAML `{{ }}` is an object in an object. What the values make of it can be checked: "
    "`helm template . | specdeploy lint -`.",
    refused=_HEAD + "spec: {model: google/gemma-4-26B-A4B-it, replicas: {{ .Values.replicas }}}\n",
)

RULES: tuple[Rule, ...] = (
    VALUE,
    UNKNOWN_FIELD,
    QUOTED,
    MISSING_FIELD,
    ADMISSION,
    OBJECT_NAME,
    TWICE,
    OTHER_KIND,
    NOT_YAML,
    TAB,
    UNCLOSED,
    DUPLICATE_KEY,
    ODD_KEY,
    ALIAS_OF_NOTHING,
    RECURSIVE_ALIAS,
    TOO_MANY_VALUES,
    TOO_DEEP,
    UNREADABLE,
    TEMPLATE,
)
