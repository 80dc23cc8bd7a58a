"""Rules on the words of engine.args: whose they are, and whether they are words at all."""

from collections.abc import Callable, Iterator, Mapping

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import arguments as table
from specdeploy.engine.flags import argument_path
from specdeploy.engine.serving import is_on, object_of, sequences
from specdeploy.engine.setting import Candidate, Setting

END_OF_FLAGS = Rule(
    code="SD110",
    name="end-of-flags",
    severity=Severity.ERROR,
    title="`--` stands among the arguments",
    why="Every word after it is no flag any more, and the flags of SpecDeploy come after it.",
    source="Python's argparse",
    refused="engine: {args: ['--', --max-num-seqs, '64']}",
    passed="engine: {args: [--max-num-seqs, '64']}",
    decided_by=Decider.PARSER,
)
SEVERAL_WORDS = Rule(
    code="SD111",
    name="several-words-in-one",
    severity=Severity.ERROR,
    title="One item holds a flag and its value",
    why="There is no shell that would split the item, so vLLM sees one flag with a space in its name.",
    source="core/v1 Container: args are not run within a shell",
    refused="engine: {args: ['--max-model-len 8192']}",
    passed="engine: {args: [--max-model-len, '8192']}",
    decided_by=Decider.PARSER,
)
SPECULATION = Rule(
    code="SD112",
    name="speculation-in-the-arguments",
    severity=Severity.ERROR,
    title="The arguments turn speculation on",
    why="engine.args go to every arm, the baseline included; there would be nothing to compare with.",
    source="SpecDeploy: one speculative config for each drafter, none for the baseline",
    refused='engine: {args: [--speculative-config, \'{"method": "ngram"}\']}',
    passed="drafters: [{name: n, method: ngram, numSpeculativeTokens: 3}]",
    decided_by=Decider.POLICY,
)
FIELD = Rule(
    code="SD113",
    name="flag-with-a-field",
    severity=Severity.ERROR,
    title="The flag is set by a field of the spec",
    why="Two places for one thing can disagree, and the rest of SpecDeploy reads the field.",
    source="SpecDeploy",
    refused="engine: {args: [--served-model-name, gemma]}",
    passed="servedModelName: gemma",
    decided_by=Decider.POLICY,
)
SERVER = Rule(
    code="SD114",
    name="engine-out-of-reach",
    severity=Severity.ERROR,
    title="The flag takes the engine away from its probes and its Service",
    why="Probes, the Service and the reading of metrics speak plain HTTP to one port of the pod. An engine "
    "that is somewhere else never becomes ready.",
    source="SpecDeploy",
    refused="engine: {args: [--port, '9000']}",
    passed="service: {port: 9000}",
    decided_by=Decider.POLICY,
)
SECRET = Rule(
    code="SD115",
    name="secret-in-the-arguments",
    severity=Severity.ERROR,
    title="A secret stands in the arguments",
    why="Arguments are part of the pod, and everybody who may read pods could read the secret.",
    source="Kubernetes' good practices for Secrets",
    refused="engine: {args: [--api-key, abc]}",
    passed="engine: {env: [{name: VLLM_API_KEY, valueFrom: {secretKeyRef: {name: keys, key: vllm}}}]}",
    decided_by=Decider.POLICY,
)
METRICS = Rule(
    code="SD116",
    name="metrics-off",
    severity=Severity.ERROR,
    title="The engine would have no metrics",
    why="--disable-log-stats removes all of vLLM's metrics, those of speculation too: no trial could be "
    "judged and no guard would see anything.",
    source="vLLM's metrics loggers, 0.18 to 0.33",
    refused="engine: {args: [--disable-log-stats]}",
    passed="engine: {args: [--enable-log-requests]}",
    decided_by=Decider.POLICY,
)
DRAFTER_ONLY = Rule(
    code="SD117",
    name="flag-that-needs-a-drafter",
    severity=Severity.ERROR,
    title="An engine without a drafter does not start with the flag",
    why="vLLM raises at the start when speculation is off, and the baseline has none.",
    source="vLLM 0.29 and newer: --per-request-spec-decode-metrics",
    refused="engine: {args: [--per-request-spec-decode-metrics, summary]}",
    passed="engine: {args: [--kv-cache-metrics]}",
    decided_by=Decider.POLICY,
)
BACKEND_TWICE = Rule(
    code="SD118",
    name="attention-backend-twice",
    severity=Severity.ERROR,
    title="The attention backend is given twice",
    why="The last of the two would be in force, and the rules on backends look at the field.",
    source="SpecDeploy",
    refused="engine: {attentionBackend: TRITON_ATTN, args: [--attention-backend, ROCM_ATTN]}",
    passed="engine: {attentionBackend: TRITON_ATTN}",
    decided_by=Decider.POLICY,
)
SHARDED = Rule(
    code="SD120",
    name="sharded-sampling-without-shards",
    severity=Severity.ERROR,
    title="Sampling can't be sharded over the ranks as the engine is set up",
    why="vLLM refuses --enable-batch-sharded-sampling with one tensor parallel rank, with fewer requests "
    "than ranks, with --max-logprobs -1 and with --return-sampling-mask.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused="engine: {args: [--enable-batch-sharded-sampling, --max-num-seqs, '1']}",
    passed="engine: {args: [--enable-batch-sharded-sampling, --max-num-seqs, '2']}",
    decided_by=Decider.PARSER,
)
KEY_MISSING = Rule(
    code="SD121",
    name="key-missing-in-an-argument",
    severity=Severity.ERROR,
    title="An argument's object lacks a key without which it means nothing",
    why="vLLM ends as it builds its configuration.",
    source="vLLM's KVTransferConfig and KVConnectorFactory, 0.20 to 0.33; WatermarkConfig, 0.30 to 0.33",
    refused="""engine: {args: [--kv-transfer-config, '{"kv_connector": "OffloadingConnector"}']}""",
    passed="""engine:
  args: [--kv-transfer-config, '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}']""",
    decided_by=Decider.PARSER,
)
# Argument: the keys that its object needs, and the argument that gives them instead.
_KEYS: dict[str, tuple[tuple[str, ...], str]] = {
    "--watermark-config": (("key",), ""),
    "--kv-transfer-config": (("kv_connector", "kv_role"), "--kv-offloading-size"),
}

_OWNED: tuple[tuple[Rule, Mapping[str, tuple[str, str]]], ...] = (
    (SPECULATION, table.SPECULATION),
    (FIELD, table.FIELDS),
    (SERVER, table.SERVER),
    (SECRET, table.SECRETS),
    (METRICS, table.METRICS),
    (DRAFTER_ONLY, table.DRAFTER_ONLY),
)


def _check_words(setting: Setting) -> Iterator[Finding]:
    for index, word in enumerate(setting.spec.engine.args or []):
        name = word.partition("=")[0]
        if word == "--":
            reason = "'--' ends the flags, ours after it included"
            yield END_OF_FLAGS.at(argument_path(index), reason, "remove it")
        elif name.startswith("-") and any(letter.isspace() for letter in name):
            fix = "write each word as an item of its own"
            yield SEVERAL_WORDS.at(argument_path(index), f"{word!r:.80} holds several words", fix)


def _check_owned(setting: Setting) -> Iterator[Finding]:
    for flag in setting.flags:
        rules = ((rule, owned, option) for rule, owned in _OWNED for option in owned if flag.means(option))
        found = next(rules, None)
        if found is not None:
            rule, owned, option = found
            reason, fix = owned[option]
            yield rule.at(flag.path, f"{option} is not allowed here: {reason}", fix)


def _check_backend(setting: Setting) -> Iterator[Finding]:
    option = "--attention-backend"
    for flag in setting.flags:
        if setting.spec.engine.attention_backend and flag.means(option):
            reason = f"{option} is not allowed here: spec.engine.attentionBackend is set too"
            yield BACKEND_TWICE.at(flag.path, reason, "keep one of the two")


def _check_sharded(setting: Setting) -> Iterator[Finding]:
    switch, ranks = "--enable-batch-sharded-sampling", setting.parallel.tensor
    flag, requests, logprobs = setting.flag(switch), sequences(setting), setting.flag("--max-logprobs")
    if flag is None or not is_on(setting, switch):
        return
    wrong = {
        "it has one tensor parallel rank": ranks == 1,
        f"{requests} requests are fewer than {ranks} ranks": requests is not None and requests < ranks,
        "--max-logprobs is below 0": logprobs is not None and (logprobs.value or "").startswith("-"),
        "--return-sampling-mask is on": is_on(setting, "--return-sampling-mask"),
    }
    for reason in (reason for reason, holds in wrong.items() if holds):
        yield SHARDED.at(flag.path, reason, f"remove {switch}")


def _check_keys(setting: Setting) -> Iterator[Finding]:
    for option, (keys, instead) in _KEYS.items():
        flag, given = setting.flag(option), object_of(setting, option)
        if flag is None or given is None or setting.flag(instead):
            continue
        for key in (key for key in keys if given.get(key) is None and not _is_unread(setting, key)):
            yield KEY_MISSING.at(flag.path, f"{option} has no {key}", f"add {key}")


def _is_unread(setting: Setting, key: str) -> bool:
    """Without the manager of several caches vLLM never asks which connector it is."""
    return key == "kv_connector" and is_on(setting, "--disable-hybrid-kv-cache-manager")


RULES: tuple[Rule, ...] = (
    END_OF_FLAGS,
    SEVERAL_WORDS,
    *(rule for rule, _ in _OWNED),
    BACKEND_TWICE,
    SHARDED,
    KEY_MISSING,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_words,
    _check_owned,
    _check_backend,
    _check_sharded,
    _check_keys,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
