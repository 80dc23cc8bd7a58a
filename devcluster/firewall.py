"""Which iptables chains and rules are ours, computed from `iptables-save` texts; pure.

kube-proxy, the kubelet and the CNI plugins add chains named KUBE-* and CNI-* and rules that lead into them.
What was there before `up`, and what somebody else added meanwhile, is not touched.
"""

import re
from dataclasses import dataclass, field

# In the comment of every rule that we add; the CNI plugins write the network's name, which is the same.
MARK = "specdeploy-devcluster"
OUR_CHAIN = re.compile(r"(KUBE|CNI)-\S+")

BUILT_IN = frozenset({"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"})


@dataclass
class Table:
    """One table of `iptables-save`: chain names and `-A` rules, in order."""

    chains: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


def parse(saved: str) -> dict[str, Table]:
    """Tables by name from the text of `iptables-save`; counters and comments are dropped."""
    tables: dict[str, Table] = {}
    table = Table()
    for line in saved.splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line[1:], Table())
        elif line.startswith(":"):
            table.chains.append(line[1:].split()[0])
        elif line.startswith("-A "):
            table.rules.append(line)
    return tables


def is_empty(table: Table) -> bool:
    """No rule and no chain beyond the built-in ones."""
    return not table.rules and BUILT_IN.issuperset(table.chains)


def removal(before: str, now: str) -> str:
    """Input for `iptables-restore --noflush` that removes what the cluster added since; may be empty."""
    old = parse(before)
    parts = [_table_removal(name, old.get(name, Table()), table) for name, table in parse(now).items()]
    return "".join(part for part in parts if part)


def _table_removal(name: str, old: Table, new: Table) -> str:
    chains = [chain for chain in new.chains if OUR_CHAIN.fullmatch(chain) and chain not in old.chains]
    rules = [
        rule
        for rule in new.rules
        if rule not in old.rules and rule.split()[1] not in chains and _is_ours(rule)
    ]
    if not chains and not rules:
        return ""
    lines = [
        f"*{name}",
        *(f"-D{rule[2:]}" for rule in rules),
        *(f"-F {chain}" for chain in chains),
        *(f"-X {chain}" for chain in chains),
        "COMMIT",
    ]
    return "\n".join(lines) + "\n"


def _is_ours(rule: str) -> bool:
    target = re.search(r" (?:-j|-g) (\S+)", rule)
    return MARK in rule or (target is not None and OUR_CHAIN.fullmatch(target.group(1)) is not None)
