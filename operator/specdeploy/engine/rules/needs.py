"""Rules on arguments that need another one, and on those that don't go together: two tables.

Which drafters go with which arguments is in `combinations`, how large one number may be beside another in
`limits`, what the tables ask of a setting in `engine.together`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import together as ask
from specdeploy.engine.runner import microbatches
from specdeploy.engine.serving import caches_prefixes, is_on, prefills_whole
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import ALWAYS, LATELY, Span

from .doubt import graded, knows, read

NEEDS_ANOTHER = Rule(
    code="SD119",
    name="flag-needs-another",
    severity=Severity.ERROR,
    title="The flag needs another one; vLLM does not start without it",
    why="vLLM checks the pair when it has read its arguments, and ends.",
    source="vLLM's validate_parsed_serve_args and vllm.config, 0.18, 0.32 and 0.33",
    refused="engine: {args: [--enable-auto-tool-choice]}",
    passed="engine: {args: [--enable-auto-tool-choice, --tool-call-parser, hermes]}",
    decided_by=Decider.PARSER,
)
EXCLUDE = Rule(
    code="SD237",
    name="flags-that-exclude-each-other",
    severity=Severity.ERROR,
    title="The flag does not go with another one, or with this target or GPU",
    why="vLLM's configuration refuses the two together at the start.",
    source="vllm.config and EngineArgs of vLLM 0.18, 0.32 and 0.33",
    refused="""engine:
  args: [--max-cudagraph-capture-size, '64', --compilation-config, '{"max_cudagraph_capture_size": 64}']""",
    passed="engine: {args: [--max-cudagraph-capture-size, '64']}",
    decided_by=Decider.PARSER,
)


@dataclass(frozen=True)
class Pair:
    """One row: a flag, what it needs or does not go with, whether it is wrong here, and how to mend it.

    `wrong` is asked where the flag is given and, if it is a switch, on. `fix` follows a semicolon.
    """

    flag: str
    other: str
    wrong: ask.Holds
    fix: str = "add it"
    span: Span = ALWAYS


_EPLB, _EXPERTS = "--enable-eplb", "--enable-expert-parallel"
_MASK, _CC = "--return-sampling-mask", "--compilation-config"
_RANK, _LOCAL, _EXTERNAL = "--data-parallel-rank", "--data-parallel-size-local", "--data-parallel-external-lb"
_RUST = "VLLM_USE_RUST_FRONTEND"
_OLD = "--allow-deprecated-quantization"
_USUAL = "allgather_reducescatter"  # --all2all-backend, where it is not named
_ONE_POD = "remove it; an engine is one pod"

NEEDS: tuple[Pair, ...] = (
    Pair(
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        ask.without("--tool-call-parser"),
        "add it, with the parser of your model",
    ),
    Pair("--enable-log-outputs", "--enable-log-requests", ask.off("--enable-log-requests")),
    Pair(
        "--collect-detailed-traces",
        "--otlp-traces-endpoint",
        ask.without("--otlp-traces-endpoint"),
        "add it, with the address of your collector",
    ),
    Pair("--grpc-port", f"{_RUST}=1 in spec.engine.env", ask.unset(_RUST), "set it, or remove the flag"),
    Pair("--numa-bind-nodes", "--numa-bind", ask.off("--numa-bind"), span=LATELY),
    Pair("--numa-bind-cpus", "--numa-bind", ask.off("--numa-bind"), span=LATELY),
    Pair(
        "--ray-workers-use-nsight",
        "--distributed-executor-backend ray",
        ask.other_than("--distributed-executor-backend", "ray"),
        "remove it",
    ),
    Pair(
        _MASK,
        "--logprobs-mode processed_logprobs",
        ask.other_than("--logprobs-mode", "processed_logprobs"),
        span=LATELY,
    ),
    Pair("--quantization", f"{_OLD} for fbgemm_fp8", ask.deprecated_quantization),
    Pair("--profiler-config", "torch_profiler_dir in it", ask.profiles_nowhere),
    *(
        Pair("--structured-outputs-config", f"{other} for {key}", ask.backend_lacks(key, takers), "name it")
        for key, other, takers in (
            ("disable_any_whitespace", "backend xgrammar or guidance", ("xgrammar", "guidance")),
            ("disable_additional_properties", "backend guidance", ("guidance",)),
        )
    ),
    Pair("--offload-prefetch-step", "at least 1 layer", ask.prefetches_nothing, "make it 1 or more"),
    # Experts, and moving them.
    Pair(_EPLB, _EXPERTS, ask.off(_EXPERTS)),
    Pair(_EPLB, "several GPUs to move experts between", ask.nowhere_to_move_experts, "remove it"),
    Pair("--eplb-config", _EPLB, ask.adds_experts_in_vain, "add it, or remove num_redundant_experts"),
    Pair("--enable-elastic-ep", _EPLB, ask.off(_EPLB)),
    # Data parallelism.
    Pair(_EXTERNAL, _RANK, ask.without(_RANK), _ONE_POD),
    Pair(_EXTERNAL, "--data-parallel-size above 1", ask.one_rank, _ONE_POD, LATELY),
    Pair(_RANK, "--data-parallel-size above 1", ask.one_rank, _ONE_POD, LATELY),
    Pair("--data-parallel-hybrid-lb", _LOCAL, ask.both(ask.without(_LOCAL), ask.internal), _ONE_POD),
    Pair("--enable-fault-tolerance", f"{_EXTERNAL} or {_RANK}", ask.internal, _ONE_POD, LATELY),
    # Prefill and its cache.
    Pair(
        "--no-enable-chunked-prefill",
        "--no-enable-prefix-caching on a target whose layers keep states",
        ask.both(prefills_whole, ask.both(ask.keeps_states, caches_prefixes)),
        "remove it",
        LATELY,
    ),
    *(
        Pair(flag, other, ask.both(ask.routed_experts, wrong), "remove it", LATELY)
        for flag in ask.ROUTED
        for other, wrong in (
            ("a target with experts", ask.dense),
            ("prefix caching", ask.negated(caches_prefixes)),
        )
    ),
)

EXCLUSIONS: tuple[Pair, ...] = (
    *(
        Pair(flag, f"{key} in {option}", ask.has_key(option, key), "keep one of the two")
        for flag, option, key in (
            ("--cudagraph-capture-sizes", _CC, "cudagraph_capture_sizes"),
            ("--max-cudagraph-capture-size", _CC, "max_cudagraph_capture_size"),
            ("--attention-backend", "--attention-config", "backend"),
            ("--enable-flashinfer-autotune", "--kernel-config", "enable_flashinfer_autotune"),
        )
    ),
    Pair(_MASK, "--logits-processors", ask.given("--logits-processors"), "remove one of the two", LATELY),
    *(
        Pair(flag, other, ask.both(ask.routed_experts, wrong), "use another kind of parallelism", LATELY)
        for flag in ask.ROUTED
        for other, wrong in (("pipeline parallelism", ask.pipeline), ("context parallelism", ask.context))
    ),
    *(
        Pair(flag, "a dense target", ask.both(ask.dense, ask.negated(ask.one_rank)), _ONE_POD, LATELY)
        for flag in (_EXTERNAL, _RANK)
    ),
    Pair("--enable-mamba-cache-stochastic-rounding", "AMD's GPUs", ask.on_amd, "remove it", LATELY),
    Pair(
        "--kda-prefill-backend",
        "AMD's GPUs as flashkda",
        ask.both(ask.on_amd, ask.negated(ask.other_than("--kda-prefill-backend", "flashkda"))),
        "write fused, triton or auto",
        LATELY,
    ),
)


def _check_needs(setting: Setting) -> Iterator[Finding]:
    yield from _told(setting, NEEDS_ANOTHER, NEEDS, "needs")


def _check_exclusions(setting: Setting) -> Iterator[Finding]:
    yield from _told(setting, EXCLUDE, EXCLUSIONS, "does not go with")


def _told(setting: Setting, rule: Rule, rows: tuple[Pair, ...], verb: str) -> Iterator[Finding]:
    for row in rows:
        flag, in_force = setting.flag(row.flag), graded(setting, rule, row.span)
        absent = flag is None or (flag.value is not None and flag.text is None)
        if flag is None or absent or in_force is None or not knows(setting, row.flag):
            continue
        if row.wrong(setting) and (flag.value is not None or is_on(setting, row.flag)):
            reason = f"{row.flag} {verb} {row.other}"
            yield in_force.at(flag.path, reason, row.fix)


def _check_field(setting: Setting) -> Iterator[Finding]:
    """The attention backend has a field, which the same key excludes."""
    backend = setting.spec.engine.attention_backend
    if backend and ask.has_key("--attention-config", "backend")(setting):
        reason = "spec.engine.attentionBackend does not go with backend in --attention-config"
        yield EXCLUDE.at("spec.engine.attentionBackend", reason, "keep one of the two")


def _check_microbatches(setting: Setting) -> Iterator[Finding]:
    switch, backend = microbatches(setting), setting.flag("--all2all-backend")
    allowed, named = ask.microbatch_backends(setting), backend.text if backend else None
    flag = setting.flag(switch) if switch else None
    if flag is not None and (named or _USUAL) not in allowed:
        reason = f"{switch} needs --all2all-backend {' or '.join(allowed)}"
        path, fix = flag.path, "name one of them, or remove it"
        yield read(setting, NEEDS_ANOTHER).at(path, reason, fix)


RULES: tuple[Rule, ...] = (NEEDS_ANOTHER, EXCLUDE)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_needs,
    _check_exclusions,
    _check_field,
    _check_microbatches,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
