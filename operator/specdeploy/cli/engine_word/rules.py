"""What can be found by asking the engine itself (`lint --engine`); `verdict` applies these rules.

Their examples are for an installed vLLM 0.32 that has the target's configuration: `make test-vllm` runs them.
"""

from specdeploy.api.rule import Rule, Severity

ENGINE_REFUSES = Rule(
    code="SD901",
    name="engine-refuses",
    severity=Severity.ERROR,
    title="The installed vLLM refuses what no other rule does",
    why="An engine with these arguments would not start. Attention backends and kernels are not its parser's "
    "business: whether a GPU can run them shows when weights are loaded.",
    source="the installed vLLM: its parser and EngineArgs.create_engine_config()",
    refused="""
accelerator: {count: 3}
""",
    passed="""
accelerator: {count: 2}
""",
)
ENGINE_ACCEPTS = Rule(
    code="SD902",
    name="engine-accepts",
    severity=Severity.WARNING,
    title="The installed vLLM accepts what another rule calls an error",
    why="One of the two is wrong. Rules of policy, and those on what is only found when weights are loaded, "
    "are not compared.",
    source="the installed vLLM: its parser and EngineArgs.create_engine_config()",
    refused="",
    passed="""
drafters: []
""",
)
NOT_ASKED = Rule(
    code="SD903",
    name="engine-not-asked",
    severity=Severity.WARNING,
    title="The installed vLLM could not be asked about an arm",
    why="Without the configuration of target and draft checkpoint it refuses everything, so its answer says "
    "nothing.",
    source="the installed vLLM: EngineArgs.create_engine_config() reads config.json of both models",
    refused="""
model: nobody/has-this-one
drafters: []
""",
    passed="""
drafters: []
""",
)
OTHER_VERSION = Rule(
    code="SD904",
    name="engine-of-another-version",
    severity=Severity.WARNING,
    title="The installed vLLM is another release than the spec's",
    why="It can only speak for its own release. It is compared with the rules for that one.",
    source="the installed vLLM: vllm.__version__",
    refused="""
engine: {vllmVersion: "0.30.0"}
drafters: []
""",
    passed="""
engine: {vllmVersion: "0.32.0"}
drafters: []
""",
)

RULES: tuple[Rule, ...] = (ENGINE_REFUSES, ENGINE_ACCEPTS, NOT_ASKED, OTHER_VERSION)
