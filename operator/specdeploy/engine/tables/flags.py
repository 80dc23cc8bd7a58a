"""The flags of `vllm serve` by release: when each came and went, and what it takes after it.

Read from the argument parser in vLLM's released sources, every minor release from 0.18.0 to 0.33.0. `parser`
looks words up here. For a new release: what it brought and what it lost is a line each in `_ADDED` and
`_GONE`, a flag that takes no value is a word in `SWITCHES`, one that takes several in `LISTS`.
"""

from specdeploy.engine.versions import Span, since, timeline, words

# Those of the oldest release that can be used.
_OLDEST = """
    --additional-config --aggregate-engine-logging --all2all-backend --allow-credentials
    --allow-deprecated-quantization --allowed-headers --allowed-local-media-path --allowed-media-domains
    --allowed-methods --allowed-origins --api-key --api-server-count --async-scheduling --attention-backend
    --attention-config --block-size --calculate-kv-scales --chat-template --chat-template-content-format
    --code-revision --collect-detailed-traces --compilation-config --config --config-format --convert
    --cp-kv-cache-interleave-size --cpu-offload-gb --cpu-offload-params --cudagraph-capture-sizes
    --cudagraph-metrics --data-parallel-address --data-parallel-backend --data-parallel-external-lb
    --data-parallel-hybrid-lb --data-parallel-rank --data-parallel-rpc-port --data-parallel-size
    --data-parallel-size-local --data-parallel-start-rank --dbo-decode-token-threshold
    --dbo-prefill-token-threshold --dcp-comm-backend --dcp-kv-cache-interleave-size
    --decode-context-parallel-size --default-chat-template-kwargs --default-mm-loras
    --disable-access-log-for-endpoints --disable-cascade-attn --disable-chunked-mm-input
    --disable-custom-all-reduce --disable-fastapi-docs --disable-frontend-multiprocessing
    --disable-hybrid-kv-cache-manager --disable-log-stats --disable-nccl-for-dp-synchronization
    --disable-sliding-window --disable-uvicorn-access-log --distributed-executor-backend
    --distributed-timeout-seconds --download-dir --dtype --ec-transfer-config --enable-auto-tool-choice
    --enable-chunked-prefill --enable-dbo --enable-elastic-ep --enable-ep-weight-filter --enable-eplb
    --enable-expert-parallel --enable-flashinfer-autotune --enable-force-include-usage
    --enable-layerwise-nvtx-tracing --enable-log-deltas --enable-log-outputs --enable-log-requests
    --enable-logging-iteration-details --enable-lora --enable-mfu-metrics --enable-mm-embeds
    --enable-offline-docs --enable-prefix-caching --enable-prompt-embeds --enable-prompt-tokens-details
    --enable-request-id-headers --enable-return-routed-experts --enable-server-load-tracking
    --enable-sleep-mode --enable-ssl-refresh --enable-tokenizer-info-endpoint --enable-tower-connector-lora
    --enforce-eager --eplb-config --exclude-tools-when-tool-choice-none --expert-placement-strategy
    --fail-on-environ-validation --fully-sharded-loras --gdn-prefill-backend --generation-config
    --gpu-memory-utilization --h11-max-header-count --h11-max-incomplete-event-size --headless
    --hf-config-path --hf-overrides --hf-token --host --ignore-patterns --interleave-mm-strings
    --io-processor-plugin --kernel-config --kv-cache-dtype --kv-cache-memory-bytes --kv-cache-metrics
    --kv-cache-metrics-sample --kv-events-config --kv-offloading-backend --kv-offloading-size
    --kv-sharing-fast-prefill --kv-transfer-config --language-model-only --limit-mm-per-prompt --load-format
    --log-config-file --log-error-stack --logits-processors --logprobs-mode --long-prefill-token-threshold
    --lora-dtype --lora-modules --mamba-block-size --mamba-cache-dtype --mamba-cache-mode
    --mamba-ssm-cache-dtype --master-addr --master-port --max-cpu-loras --max-cudagraph-capture-size
    --max-log-len --max-logprobs --max-long-partial-prefills --max-lora-rank --max-loras --max-model-len
    --max-num-batched-tokens --max-num-partial-prefills --max-num-seqs --max-parallel-loading-workers
    --media-io-kwargs --middleware --mm-encoder-attn-backend --mm-encoder-only --mm-encoder-tp-mode
    --mm-processor-cache-gb --mm-processor-cache-type --mm-processor-kwargs
    --mm-shm-cache-max-object-size-mb --model --model-impl --model-loader-extra-config --moe-backend
    --nnodes --node-rank --num-gpu-blocks-override --offload-backend --offload-group-size
    --offload-num-in-group --offload-params --offload-prefetch-step --optimization-level
    --otlp-traces-endpoint --override-attention-dtype --override-generation-config --performance-mode
    --pipeline-parallel-size --pooler-config --port --prefill-context-parallel-size
    --prefix-caching-hash-algo --profiler-config --pt-load-map-location --quantization
    --ray-workers-use-nsight --reasoning-parser --reasoning-parser-plugin --response-role
    --return-tokens-as-token-ids --revision --root-path --runner --safetensors-load-strategy --scheduler-cls
    --scheduling-policy --seed --served-model-name --show-hidden-metrics-for-version --shutdown-timeout
    --skip-mm-profiling --skip-tokenizer-init --specialize-active-lora --speculative-config --ssl-ca-certs
    --ssl-cert-reqs --ssl-certfile --ssl-ciphers --ssl-keyfile --stream-interval --structured-outputs-config
    --tensor-parallel-size --tokenizer --tokenizer-mode --tokenizer-revision --tokens-only
    --tool-call-parser --tool-parser-plugin --tool-server --trust-remote-code --trust-request-chat-template
    --ubatch-size --uds --use-tqdm-on-load --uvicorn-log-level --video-pruning-rate --weight-transfer-config
    --worker-cls --worker-extension-cls
"""

# Release: what it brought.
_ADDED: dict[str, str] = {
    "0.19": """
        --kv-cache-dtype-skip-layers --lora-target-modules --mm-tensor-ipc --reasoning-config
        --renderer-num-workers --scheduler-reserve-full-isl
    """,
    "0.20": """
        --enable-flash-late-interaction --enable-mamba-cache-stochastic-rounding --grpc --ir-op-priority
        --mamba-backend --mamba-cache-philox-rounds --numa-bind --numa-bind-cpus --numa-bind-nodes
    """,
    "0.21": """
        --fingerprint-mode --fingerprint-value --mm-encoder-attn-dtype --mm-encoder-fp8-scale-path
        --mm-encoder-fp8-scale-save-margin --mm-encoder-fp8-scale-save-path
        --safetensors-prefetch-block-size --safetensors-prefetch-num-threads
    """,
    "0.22": """
        --cpu-distributed-timeout-seconds --data-parallel-multi-port-external-lb
        --data-parallel-supervisor-port --dp-supervisor-probe-failure-threshold
        --dp-supervisor-probe-interval-s --dp-supervisor-probe-timeout-s --enable-cumem-allocator
        --enable-mixed-moe-lora-format --linear-backend --quantization-config --spec-method --spec-model
        --spec-tokens --use-fp64-gumbel
    """,
    "0.24": """
        --device-ids --diffusion-config --jit-monitor-verbose --prefill-schedule-interval --watermark
    """,
    "0.25": """
        --enable-per-request-metrics --jit-monitor-mode --mm-ipc-gpu-memory-gb --model-class-overrides
    """,
    "0.26": """
        --enable-bf16x3-router-gemm --enable-moe-shared-loras --max-num-scheduled-tokens --prefix-match-unit
    """,
    "0.27": """
        --cohere-format --cohere-is-reasoning-model --enable-fault-tolerance --fault-tolerance-config
        --kda-prefill-backend --mamba-ssu-algorithm --mm-hasher-algorithm --replayssm-buffer-len
        --use-replayssm --video-pruning-method
    """,
    "0.28": """
        --ec-manager-config --mm-device-do-normalize --mm-processor-device --return-sampling-mask
    """,
    "0.29": """
        --dcp-q-replicate --enable-batch-sharded-sampling --enable-trace-replay --max-num-queued-reqs
        --max-num-queued-tokens --per-request-spec-decode-metrics --prefix-cache-retention-interval
        --sse-keep-alive-interval
    """,
    "0.30": """
        --dp-sync-interval --elastic-ep-max-dp-size --enable-mamba-fine-grained-prefix-cache
        --enable-nccl-comm-suspend --enable-scale-out --engram-config --kda-decode-backend
        --sparse-indexer-topk-backend --watermark-config
    """,
    "0.31": """
        --anthropic-disabled-thinking-effort --aux-output-config --device-memory-utilization
        --enable-mamba-shared-prefix-checkpoint --log-level --logging-config
        --long-prefill-token-threshold-adaptive --max-lora-cls-labels --max-num-active-seqs
        --sleep-preserve-parameter-names --swa-bounded-replay --tool-strict-level --trust-request-mm-kwargs
    """,
    "0.32": """
        --custom-histogram-buckets --enable-hc-sp --enable-shm-tensor-arena --grpc-port
        --sleep-mode-offload-cudagraph
    """,
    "0.33": "--monokernel --reasoning-effort-map --sleep-mode-backend --watchdog-config",
}

# Release: what it no longer has.
_GONE: dict[str, str] = {
    "0.19": "--disable-frontend-multiprocessing",
    "0.27": "--max-long-partial-prefills --max-num-partial-prefills",
    "0.28": "--calculate-kv-scales --override-attention-dtype",
    "0.30": "--enable-bf16x3-router-gemm",
    "0.31": "--enable-mamba-fine-grained-prefix-cache",
}

SPANS = timeline(_OLDEST, _ADDED, _GONE)

# Flags that were gone before the oldest release that can be used, and live on in recipes: what to do now.
GONE_BEFORE: dict[str, str] = {
    "--disable-by-batch-size": "use drafters[].options.num_speculative_tokens_per_batch_size with rows of 0",
    "--disable-log-requests": "remove it; requests are logged only with --enable-log-requests",
    "--enable-reasoning": "remove it; --reasoning-parser is enough",
    "--guided-decoding-backend": "use --structured-outputs-config",
    "--ngram-prompt-lookup-max": "list a drafter with method ngram under spec.drafters",
    "--ngram-prompt-lookup-min": "list a drafter with method ngram under spec.drafters",
    "--num-lookahead-slots": "remove it",
    "--num-scheduler-steps": "remove it",
    "--num-speculative-tokens": "list the drafter under spec.drafters, with numSpeculativeTokens",
    "--rope-scaling": "use --hf-overrides",
    "--rope-theta": "use --hf-overrides",
    "--speculative-disable-by-batch-size": (
        "use drafters[].options.num_speculative_tokens_per_batch_size with rows of 0"
    ),
    "--speculative-draft-tensor-parallel-size": "use drafters[].options.draft_tensor_parallel_size",
    "--speculative-model": "list the checkpoint under spec.drafters",
    "--swap-space": "remove it",
    "--task": "use --runner and --convert",
    "--use-v2-block-manager": "remove it",
}

# What to use instead of a flag that vLLM has announced as going.
INSTEAD: dict[str, str] = {
    "--disable-cascade-attn": "remove it; vLLM has no cascade attention any more",
    "--ir-op-priority": "remove it",
    "--log-config-file": "use --logging-config.pylogging_config_file",
    "--mamba-cache-mode": "remove it; prefix caching of state layers follows --enable-prefix-caching",
}

# The releases in which vLLM warns that the flag will go.
DEPRECATED: dict[str, Span] = {
    "--disable-cascade-attn": since("0.32"),
    "--ir-op-priority": since("0.33"),
    "--log-config-file": since("0.31"),
    "--mamba-cache-mode": since("0.33"),
}

# Those that take no value. All but `PLAIN` have a `--no-` form.
SWITCHES = words(
    """
        --aggregate-engine-logging --allow-credentials --allow-deprecated-quantization --async-scheduling
        --calculate-kv-scales --cohere-is-reasoning-model --cudagraph-metrics --data-parallel-external-lb
        --data-parallel-hybrid-lb --data-parallel-multi-port-external-lb --dcp-q-replicate
        --disable-cascade-attn --disable-chunked-mm-input --disable-custom-all-reduce --disable-fastapi-docs
        --disable-frontend-multiprocessing --disable-hybrid-kv-cache-manager --disable-log-stats
        --disable-nccl-for-dp-synchronization --disable-sliding-window --disable-uvicorn-access-log
        --enable-auto-tool-choice --enable-batch-sharded-sampling --enable-bf16x3-router-gemm
        --enable-chunked-prefill --enable-cumem-allocator --enable-dbo --enable-elastic-ep
        --enable-ep-weight-filter --enable-eplb --enable-expert-parallel --enable-fault-tolerance
        --enable-flash-late-interaction --enable-flashinfer-autotune --enable-force-include-usage
        --enable-hc-sp --enable-layerwise-nvtx-tracing --enable-log-deltas --enable-log-outputs
        --enable-log-requests --enable-logging-iteration-details --enable-lora
        --enable-mamba-cache-stochastic-rounding --enable-mamba-fine-grained-prefix-cache
        --enable-mamba-shared-prefix-checkpoint --enable-mfu-metrics --enable-mixed-moe-lora-format
        --enable-mm-embeds --enable-moe-shared-loras --enable-nccl-comm-suspend --enable-offline-docs
        --enable-per-request-metrics --enable-prefix-caching --enable-prompt-embeds
        --enable-prompt-tokens-details --enable-request-id-headers --enable-return-routed-experts
        --enable-scale-out --enable-server-load-tracking --enable-shm-tensor-arena --enable-sleep-mode
        --enable-ssl-refresh --enable-tokenizer-info-endpoint --enable-tower-connector-lora
        --enable-trace-replay --enforce-eager --exclude-tools-when-tool-choice-none
        --fail-on-environ-validation --fully-sharded-loras --grpc --headless --interleave-mm-strings
        --jit-monitor-verbose --kv-cache-metrics --kv-sharing-fast-prefill --language-model-only
        --log-error-stack --long-prefill-token-threshold-adaptive --mm-device-do-normalize --mm-encoder-only
        --monokernel --numa-bind --ray-workers-use-nsight --return-sampling-mask
        --return-tokens-as-token-ids --scheduler-reserve-full-isl --skip-mm-profiling --skip-tokenizer-init
        --sleep-mode-offload-cudagraph --specialize-active-lora --swa-bounded-replay --tokens-only
        --trust-remote-code --trust-request-chat-template --trust-request-mm-kwargs --use-fp64-gumbel
        --use-replayssm --use-tqdm-on-load
    """
)

PLAIN = words(
    """
        --aggregate-engine-logging --data-parallel-multi-port-external-lb --disable-log-stats --grpc
        --headless
    """
)

# From this release on a switch `--enable-x` is also turned off by `--disable-x`, and the other way round.
PAIRED_SINCE = "0.33"

# Those that take one value or several.
LISTS = words(
    """
        --allowed-media-domains --api-key --collect-detailed-traces --cpu-offload-params
        --cudagraph-capture-sizes --ignore-patterns --kv-cache-dtype-skip-layers --logits-processors
        --lora-modules --lora-target-modules --numa-bind-cpus --numa-bind-nodes --offload-params
        --served-model-name --sleep-preserve-parameter-names
    """
)

# Those that take a value or none.
OPTIONAL = frozenset({"--hf-token"})
