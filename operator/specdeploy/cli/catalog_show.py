"""What `specdeploy catalog` shows: a line a target, or one target's drafters. Pure; `rich` draws it."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdeploy.engine.catalogue.entries import Checkpoint, Measured, Target
from specdeploy.engine.catalogue.evidence import NOT_STATED, best_measured, best_ratio, called
from specdeploy.engine.sizes import drafter_token_bytes, drafter_weights_gib, target_token_bytes

_MIB = 2**20
# Columns below which a table of the longest names has no room for the rest.
_TABLE = 80


def listing(found: Iterable[Target], columns: int) -> RenderableType:
    """How many drafters each target has, and the best that was measured of them: a line, or two where there
    is no room for a table."""
    hint = Text("specdeploy catalog MODEL shows one target's drafters", "dim")
    if columns < _TABLE:
        return Group(*(_two_lines(target) for target in found), Text(), hint)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("TARGET", no_wrap=True)
    table.add_column("DRAFTERS", justify="right", min_width=len("DRAFTERS"))
    for column in ("BEST", "WITH", "ON"):
        table.add_column(column, overflow="fold")
    for target in found:
        table.add_row(target.model, str(len(target.drafters)), *_best(target))
    return Group(table, Text(), hint)


def _two_lines(target: Target) -> RenderableType:
    ratio, what, where = _best(target)
    count = len(target.drafters)
    on = "" if not where or where.startswith("at ") else "on "
    best = f", {ratio} with {what} {on}{where}".rstrip() if what else ""
    drafters = f"{count} drafter{'' if count == 1 else 's'}{best}"
    return Group(Text(target.model, "bold", overflow="fold"), Padding(Text(drafters), (0, 0, 0, 2)))


def _best(target: Target) -> tuple[str, str, str]:
    measured = (each for each in target.drafters if each.measured)
    drafter = max(measured, key=best_ratio, default=None)
    best = best_measured(drafter) if drafter else None
    if drafter is None or best is None:
        return "-", "", ""
    load = f" at {best.concurrency}" if best.concurrency else ""
    where = [each for each in (best.workload, best.hardware) if each != NOT_STATED]
    return (
        f"{best.ratio:.2f}x",
        f"{called(drafter.method)} N={best.tokens}",
        f"{', '.join(where)}{load}".strip(),
    )


def entry(target: Target) -> RenderableType:
    """One target with all that is known of each drafter, the best measured first."""
    parts: list[RenderableType] = [Text.assemble((target.model, "bold"), f"  {_facts(target)}")]
    if where := tuple(_where(target)):
        parts += [_grid(where)]
    for drafter in sorted(target.drafters, key=best_ratio, reverse=True):
        parts += [Text(), _title(drafter), _block(drafter, target)]
    return Group(*parts)


def _facts(target: Target) -> str:
    token = target_token_bytes(target)
    facts = (
        f"{_number(target.parameters)} parameters" if target.parameters else None,
        target.precision,
        f"{target.context} tokens of context" if target.context else None,
        f"{token / 1024:.0f} KiB of cache a token" if token else None,
        f"vLLM {target.since}" if target.since else None,
        "gated" if target.gated else None,
        target.licence,
    )
    return ", ".join(each for each in facts if each)


def _number(billions: float) -> str:
    return f"{billions / 1000:g}T" if billions >= 1000 else f"{billions:g}B"


def _title(drafter: Checkpoint) -> Text:
    return Text.assemble((called(drafter.method), "bold cyan"), "  ", (drafter.name, "bold"))


def _block(drafter: Checkpoint, target: Target) -> Table:
    return _grid(_rows(drafter, target))


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    block = Table.grid(padding=(0, 2))
    block.add_column(width=12, justify="right", style="dim")
    block.add_column(overflow="fold")
    for name, words in rows:
        block.add_row(name, escape(words))
    return block


def _where(target: Target) -> Iterator[tuple[str, str]]:
    if target.verified:
        yield "runs on", f"{', '.join(target.verified)} (recipe; the model, not its drafters)"
    if target.unsupported:
        yield "not on", f"{', '.join(target.unsupported)} (recipe)"


def _rows(drafter: Checkpoint, target: Target) -> Iterator[tuple[str, str]]:
    yield "tokens", _tokens(drafter)
    for place, found in _by_place(drafter.measured).items():
        yield "measured", f"{', '.join(found)}; {place}"
    if not drafter.measured:
        yield "measured", "nothing published with its number of tokens"
    yield "memory", _memory(drafter, target)
    yield "needs", _needs(drafter)
    if drafter.unsupported:
        yield "not on", ", ".join(drafter.unsupported)
    if drafter.licence:
        yield "licence", drafter.licence
    yield "source", drafter.source
    if drafter.notes:
        yield "note", drafter.notes


def _tokens(drafter: Checkpoint) -> str:
    tokens = drafter.tokens
    sensible = str(tokens.least) if tokens.least == tokens.most else f"{tokens.least} to {tokens.most}"
    block = f", block {drafter.block}" if drafter.block else ""
    return f"begin with {tokens.suggested}; {sensible} make sense{block}"


def _by_place(measured: Iterable[Measured]) -> dict[str, list[str]]:
    """Ratios by where they were measured, in the order in which they stand."""
    found: dict[str, list[str]] = {}
    for each in measured:
        gpus = f"{each.gpus} {each.hardware}" if each.gpus else each.hardware
        where = "hardware not stated" if each.hardware == NOT_STATED else f"on {gpus}"
        found.setdefault(f"{where} ({each.source})", []).append(_ratio(each))
    return found


def _ratio(each: Measured) -> str:
    """`GSM8K 2.70x (N=7, accepts 5.12)`."""
    workload = "" if each.workload == NOT_STATED else f"{each.workload} "
    load = f" at {each.concurrency}" if each.concurrency else ""
    accepts = f", accepts {each.accepted_length:.2f}" if each.accepted_length else ""
    return f"{workload}{each.ratio:.2f}x (N={each.tokens}{load}{accepts})"


def _memory(drafter: Checkpoint, target: Target) -> str:
    weights = drafter_weights_gib(drafter)
    if drafter.model is None:
        weighs = "weights are the target's"
    else:
        weighs = "weights unknown" if weights is None else f"weights {weights:.1f} GiB"
    return f"{weighs}; {_cache(drafter, target)}"


def _cache(drafter: Checkpoint, target: Target) -> str:
    if drafter.kv_share is not None:
        return f"about {drafter.kv_share:.0%} of all cache"
    own, whole = drafter_token_bytes(drafter, target), target_token_bytes(target)
    if own == 0:
        return "reads the target's cache"
    if own is None or not whole:
        return "cache unknown"
    return f"cache {own / whole:.0%} of the target's"


def _needs(drafter: Checkpoint) -> str:
    backends = (f"attentionBackend {name} on {where}" for where, name in drafter.backends.items())
    options = (f"options.{key}: {_plain(value)}" for key, value in drafter.options.items())
    since = f"vLLM {drafter.since}" if drafter.since else None
    gated = "a token of the hub (gated)" if drafter.gated else None
    return ", ".join(each for each in (since, *backends, *options, gated) if each) or "nothing that is known"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
