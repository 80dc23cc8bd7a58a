"""Words that flags of `vllm serve`, and keys in their objects, take: each with its releases.

`rules.choices` reads it. Read in vLLM 0.18, 0.32 and 0.33; a word that came or went between the first two is
taken for right in all that are between them. Flags whose words are the same in every release are in
`tables.values`.
"""

from dataclasses import dataclass

from specdeploy.engine.versions import ALWAYS, Span, between, since

_EARLY, _LATE, _NEWEST = between(None, "0.32"), since("0.19"), since("0.33")


@dataclass(frozen=True)
class Words:
    """The words of one flag, or of one key (`--flag.key`).

    Attributes:
        spans: each word, with its releases.
        upper: whether vLLM reads them in upper case.
        read: the switch without which it does not look at the word; empty: it always does.
        opened_by: what adds words of one's own: a flag, or a key of the same object.
        registry: whether a package in the image may add words without being asked for.
        dotted: whether the path of a class is taken too.
    """

    spans: dict[str, Span]
    upper: bool = False
    read: str = ""
    opened_by: str = ""
    registry: bool = False
    dotted: bool = False


def _spans(always: str, early: str = "", late: str = "", newest: str = "") -> dict[str, Span]:
    rows = ((always, ALWAYS), (early, _EARLY), (late, _LATE), (newest, _NEWEST))
    return {word: span for words, span in rows for word in words.split()}


_REASONING = Words(
    _spans(
        """
            deepseek_r1 deepseek_v3 ernie45 glm45 granite holo2 hunyuan_a13b kimi_k2 minimax_m2
            minimax_m2_append_think mistral nemotron_v3 olmo3 openai_gptoss qwen3 seed_oss step3 step3p5
        """,
        late="""
            cohere_command3 cohere_command4 deepseek_v4 deepseek_v41 gemma4 glm47 granite_thinking_parser hf
            hy_v3 hy_v4 inkling k2_horizon kimi_k3 ling3 mimo minicpmv minimax_m3 muse_glimmer plamo3
            poolside_v1
        """,
        newest="beam muse musespark1x step5",
    ),
    opened_by="--reasoning-parser-plugin",
    registry=True,
)

WORDS: dict[str, Words] = {
    "--all2all-backend": Words(
        _spans(
            """
                allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv
                flashinfer_nvlink_one_sided flashinfer_nvlink_two_sided naive nixl_ep pplx
            """,
            early="mori",
            late="deepep_v2 moonep mori_high_throughput mori_low_latency",
        )
    ),
    "--config-format": Words(_spans("auto hf mistral"), registry=True),
    "--data-parallel-backend": Words(_spans("mp ray")),
    "--dcp-comm-backend": Words(_spans("a2a ag_rs")),
    "--distributed-executor-backend": Words(_spans("external_launcher mp ray uni"), dotted=True),
    "--lora-dtype": Words(_spans("auto bfloat16 float16")),
    "--mamba-cache-dtype": Words(_spans("auto float16 float32", late="bfloat16")),
    "--mamba-cache-mode": Words(_spans("align none", early="all")),
    "--mamba-ssm-cache-dtype": Words(_spans("auto float16 float32", late="bfloat16")),
    "--mamba-ssu-algorithm": Words(_spans("auto horizontal simple vertical")),
    "--offload-backend": Words(_spans("auto prefetch uva")),
    "--reasoning-parser": _REASONING,
    "--tool-call-parser": Words(
        _spans(
            """
                deepseek_v3 deepseek_v31 deepseek_v32 ernie45 functiongemma gigachat3 glm45 glm47 granite
                granite-20b-fc granite4 hermes hunyuan_a13b internlm jamba kimi_k2 llama3_json llama4_json
                llama4_pythonic longcat minimax_m2 mistral olmo3 openai phi4_mini_json pythonic qwen3_coder
                qwen3_xml seed_oss step3 step3p5 xlam
            """,
            early="minimax",
            late="""
                apertus cohere_command3 cohere_command4 deepseek_v4 deepseek_v41 dots gemma4 hf hy_v3 hy_v4
                inkling k2_horizon kimi_k3 lfm2 ling3 mimo minicpm5 minimax_m3 muse_glimmer plamo3
                poolside_v1 qwen3_json
            """,
            newest="beam muse musespark1x step5",
        ),
        read="--enable-auto-tool-choice",
        opened_by="--tool-parser-plugin",
        registry=True,
    ),
    "--video-pruning-method": Words(_spans("evs vidcom2")),
    "--compilation-config.compile_cache_save_format": Words(_spans("binary unpacked")),
    "--compilation-config.cudagraph_mode": Words(
        _spans("FULL FULL_AND_PIECEWISE FULL_DECODE_ONLY NONE PIECEWISE"), upper=True
    ),
    "--compilation-config.mode": Words(
        _spans("DYNAMO_TRACE_ONCE NONE STOCK_TORCH_COMPILE VLLM_COMPILE"), upper=True
    ),
    "--eplb-config.policy": Words(_spans("default")),
    "--kv-events-config.publisher": Words(_spans("null zmq")),
    "--kv-transfer-config.kv_connector": Words(
        _spans(
            """
                DecodeBenchConnector ExampleConnector ExampleHiddenStatesConnector FlexKVConnectorV1
                LMCacheConnectorV1 LMCacheMPConnector MoRIIOConnector MooncakeConnector MultiConnector
                NixlConnector OffloadingConnector
            """,
            early="P2pNcclConnector",
            late="""
                HF3FSKVConnector HiSparseConnector MooncakeStoreConnector NixlPullConnector
                NixlPushConnector SimpleCPUOffloadConnector
            """,
        ),
        opened_by="kv_connector_module_path",
        registry=True,
    ),
    "--kv-transfer-config.kv_load_failure_policy": Words(_spans("fail recompute")),
    "--kv-transfer-config.kv_role": Words(_spans("kv_both kv_consumer kv_producer")),
    "--profiler-config.profiler": Words(_spans("cuda torch", late="proton")),
    "--structured-outputs-config.backend": Words(
        _spans("auto guidance lm-format-enforcer outlines xgrammar")
    ),
    "--structured-outputs-config.reasoning_parser": _REASONING,
    "--watermark-config.algorithm": Words(_spans("dual_key_gumbel gumbel")),
}
