"""What every engine is asked before it is ready, so that arms can be compared by what they write.

The startup probe (`manifests.probes`) asks, greedily and one by one, and writes each answer to the
container's log; `judge.answers` reads them, `judge.guards.agreement` compares them.
"""

from .hashing import short_hash

# Enough to see a drafter that changes what users read; a second or two on the slowest engine.
ANSWER_TOKENS = 32

_LOG = (
    "09:00 the gate opens and the first lorry is weighed. 09:10 the second lorry waits at the gate. "
    "09:25 the crane lifts forty crates from the first lorry to platform two. 09:40 rain begins, and the "
    "crane stops for ten minutes. 09:50 the crane starts again. 10:05 the first lorry leaves empty. "
    "10:10 the second lorry is weighed and drives to platform one. 10:30 twelve crates are found to be "
    "damaged, and a clerk writes their numbers down. 10:45 the damaged crates are moved to the shed. "
    "11:00 the third lorry arrives with pipes instead of crates. 11:20 its driver shows the papers for "
    "another harbour, and the clerk telephones the office. 11:35 the office answers that the pipes are "
    "expected in the north. 11:40 the third lorry leaves as it came. 11:50 the rain ends. 12:00 the gate is "
    "closed for the break. 12:45 the gate opens again, and the fourth lorry is weighed. 13:00 the crane "
    "lifts thirty crates from the fourth lorry to platform two. 13:30 the fourth lorry leaves empty. "
)

# Short name -> prompt. What comes next is nearly certain in some and open in others: counting, repetition,
# prose, JSON, a call of a tool, code, and one prompt of a few hundred tokens.
QUESTIONS: dict[str, str] = {
    "count": "Count: one, two, three, four, five, six, seven,",
    "repeat": "red green blue red green blue red green blue red green blue red green",
    "prose": "The harbour was quiet in the early morning. The old captain looked at the water and said that",
    "json": '[{"id": 1, "name": "Ada", "active": true}, {"id": 2, "name": "Bob", "active": false}, {"id": 3,',
    "tool": 'User: What is the weather in Oslo?\nAssistant calls: {"tool": "weather", "arguments": {"city":',
    "code": "def factorial(n: int) -> int:\n    if n <= 1:\n        return 1\n    return",
    "long": f"{_LOG}\nIn short: on that day, the first thing that happened was that",
}

# Answers to other questions are not compared: another version of the operator may ask others.
QUESTION_SET = short_hash([QUESTIONS, ANSWER_TOKENS])
