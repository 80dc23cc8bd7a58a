"""What the flags of `vllm serve` take for a value: numbers, JSON, a word. `rules.flags` looks here.

Kinds were asked of the parser of vLLM 0.32.0 itself; choices were read from the released sources, every minor
release from 0.18.0 to 0.33.0, and are those of all releases together. A flag in no table takes any text.
"""

from specdeploy.engine.versions import ALWAYS, Span, between, words

# A whole number.
WHOLE = words(
    """
        --api-server-count --block-size --cp-kv-cache-interleave-size --cudagraph-capture-sizes
        --data-parallel-rank --data-parallel-rpc-port --data-parallel-size --data-parallel-size-local
        --data-parallel-start-rank --data-parallel-supervisor-port --dbo-decode-token-threshold
        --dbo-prefill-token-threshold --dcp-kv-cache-interleave-size --decode-context-parallel-size
        --dp-supervisor-probe-failure-threshold --dp-sync-interval --elastic-ep-max-dp-size
        --h11-max-header-count --h11-max-incomplete-event-size --long-prefill-token-threshold
        --mamba-cache-philox-rounds --master-port --max-cudagraph-capture-size --max-logprobs --max-loras
        --max-num-seqs --mm-shm-cache-max-object-size-mb --nnodes --node-rank --offload-group-size
        --offload-num-in-group --offload-prefetch-step --pipeline-parallel-size
        --prefill-context-parallel-size --prefill-schedule-interval --renderer-num-workers
        --replayssm-buffer-len --safetensors-prefetch-num-threads --seed --sse-keep-alive-interval
        --ssl-cert-reqs --stream-interval --tensor-parallel-size --ubatch-size
    """
)

# A whole number, or `None`.
WHOLE_OR_NONE = words(
    """
        --cpu-distributed-timeout-seconds --distributed-timeout-seconds --grpc-port --mamba-block-size
        --max-cpu-loras --max-log-len --max-lora-cls-labels --max-num-active-seqs --max-num-queued-reqs
        --max-parallel-loading-workers --num-gpu-blocks-override --numa-bind-nodes
        --prefix-cache-retention-interval --prefix-match-unit
    """
)

# A whole number that may have a suffix: 16k, 16K.
SUFFIXED = words(
    """
        --kv-cache-memory-bytes --max-num-batched-tokens --max-num-queued-tokens --max-num-scheduled-tokens
        --safetensors-prefetch-block-size
    """
)

# The same, or `auto`.
SUFFIXED_OR_AUTO = words("--max-model-len")

# A number.
NUMBER = words(
    """
        --cpu-offload-gb --device-memory-utilization --dp-supervisor-probe-interval-s
        --dp-supervisor-probe-timeout-s --gpu-memory-utilization --kv-cache-metrics-sample
        --mm-encoder-fp8-scale-save-margin --mm-ipc-gpu-memory-gb --mm-processor-cache-gb --watermark
    """
)

# A number, or `None`.
NUMBER_OR_NONE = words(
    """
        --kv-offloading-size --video-pruning-rate
    """
)

# JSON.
JSON = words("--allowed-headers --allowed-methods --allowed-origins --default-chat-template-kwargs")

# JSON, or `None`.
JSON_OR_NONE = words("--default-mm-loras")

# An object in JSON.
OBJECT = words(
    """
        --additional-config --attention-config --aux-output-config --compilation-config --ec-manager-config
        --eplb-config --fault-tolerance-config --hf-overrides --ir-op-priority --kernel-config
        --limit-mm-per-prompt --logging-config --media-io-kwargs --model-class-overrides
        --override-generation-config --profiler-config --structured-outputs-config
    """
)

# An object in JSON, or `None`.
OBJECT_OR_NONE = words(
    """
        --custom-histogram-buckets --diffusion-config --ec-transfer-config --engram-config --kv-events-config
        --kv-transfer-config --mm-processor-kwargs --pooler-config --quantization-config --reasoning-config
        --watchdog-config --watermark-config --weight-transfer-config
    """
)

# Objects that the parser takes for any text or JSON, and the configuration after it for objects alone.
LATER = words(
    """
        --additional-config --custom-histogram-buckets --diffusion-config --hf-overrides
        --limit-mm-per-prompt --media-io-kwargs --mm-processor-kwargs --model-class-overrides
        --override-generation-config --watermark-config
    """
)

# One of these words.
_CHOICES: dict[str, str] = {
    "--chat-template-content-format": "auto openai string",
    "--convert": "auto none embed classify",
    "--dtype": "auto bfloat16 float float16 float32 half",
    "--expert-placement-strategy": "linear round_robin",
    "--fingerprint-mode": "custom full hash none",
    "--gdn-prefill-backend": "aiter_flydsl cutedsl flashinfer sycl triton",
    "--jit-monitor-mode": "error warn",
    "--kda-decode-backend": "auto flashinfer native triton",
    "--kda-prefill-backend": "auto flashinfer flashkda fused triton",
    "--kv-cache-dtype": """
        auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head
        int4_per_token_head int8_per_token_head nvfp4 nvfp4_4over6 nvfp4_ds_mla turboquant_3bit_nc
        turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4 ultraquant_4bit
    """,
    "--kv-offloading-backend": "lmcache native",
    "--linear-backend": """
        aiter auto b12x conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x flashinfer_cudnn
        flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm humming machete marlin torch triton xpu
        xpu_woq
    """,
    "--logprobs-mode": "processed_logits processed_logprobs raw_logits raw_logprobs",
    "--max-lora-rank": "1 8 16 32 64 128 256 320 512",
    "--mm-encoder-tp-mode": "data weights",
    "--mm-hasher-algorithm": "blake3 sha256 sha512",
    "--mm-processor-cache-type": "lru shm",
    "--mm-tensor-ipc": "direct_rpc torch_shm",
    "--moe-backend": """
        aiter aiter_mega_moe aiter_triton_mxfp4_bf16 aiter_triton_mxfp4_mxfp4 auto b12x batched_triton cutlass
        deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass
        flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_cutedsl flashinfer_moe_ep_mega_deep_gemm
        flashinfer_trtllm flydsl hpc humming marlin rdna3 triton triton_unfused
    """,
    "--performance-mode": "balanced interactivity throughput",
    "--prefix-caching-hash-algo": "sha256 sha256_cbor xxhash xxhash_cbor",
    "--runner": "auto generate pooling draft",
    "--scheduling-policy": "fcfs priority",
    "--uvicorn-log-level": "critical debug error info trace warning",
}
# Where the choice is open from some release on.
_CLOSED: dict[str, Span] = {"--kv-cache-dtype": between(None, "0.33")}
# Those in which vLLM reads `Flashinfer-CutLASS` as `flashinfer_cutlass`.
FOLDED = words("--linear-backend --moe-backend")

# Those whose words are whole numbers.
NUMBERS = words("--max-lora-rank")

CHOICES = {name: (words(values), _CLOSED.get(name, ALWAYS)) for name, values in _CHOICES.items()}
