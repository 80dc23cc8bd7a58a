"""Keys of the objects that flags of `vllm serve` take. `rules.keys` reads it.

vLLM forbids keys that it does not know, so a recipe for another release keeps an engine from starting. Read
whole in three releases: the oldest, 0.32 and 0.33. A key that came or went between the first two is taken for
right in all that are between them.
"""

from specdeploy.engine.versions import ALWAYS, Span, between, since

# A key that 0.18 has and 0.32 has no more; one that 0.32 has and 0.18 does not; one that came with 0.33.
_EARLY, _LATE, _NEWEST = between(None, "0.32"), since("0.19"), since("0.33")


def _keys(always: str, early: str = "", late: str = "", newest: str = "") -> dict[str, Span]:
    rows = ((always, ALWAYS), (early, _EARLY), (late, _LATE), (newest, _NEWEST))
    return {key: span for names, span in rows for key in names.split()}


# By the flag, and after a dot by the key that holds an object itself.
KEYS: dict[str, dict[str, Span]] = {
    "--attention-config": _keys(
        """
            backend disable_flashinfer_q_quantization flash_attn_max_num_splits_for_cuda_graph
            flash_attn_version use_prefill_query_quantization use_trtllm_attention
        """,
        early="""
            disable_flashinfer_prefill use_cudnn_prefill use_prefill_decode_attention
            use_trtllm_ragged_deepseek_prefill
        """,
        late="""
            backend_per_kind flex_attn_block_m flex_attn_block_n flex_attn_kv_block_size
            flex_attn_q_block_size hisparse_config indexer_kv_dtype indexer_sparse_logits
            minimax_m3_msa_decode_backend mla_prefill_backend sparse_mla_force_mqa
            sparse_mla_prefill_workspace_factor tokenspeed_mla_min_split_kv
            tq_max_kv_splits_for_cuda_graph use_non_causal
        """,
        newest="indexer_tp_shard_min_rows minimax_m3_indexer_cp trtllm_ragged_backend",
    ),
    "--attention-config.hisparse_config": _keys("device_buffer_size eager_host_mirror"),
    "--aux-output-config": _keys("enable_return_routed_experts max_bytes"),
    "--compilation-config": _keys(
        """
            backend cache_dir compile_cache_save_format compile_mm_encoder
            compile_ranges_endpoints compile_sizes cudagraph_capture_sizes cudagraph_copy_inputs
            cudagraph_mode cudagraph_num_of_warmups cudagraph_specialize_lora custom_ops
            debug_dump_path dynamic_shapes_config fast_moe_cold_start inductor_compile_config
            inductor_passes max_cudagraph_capture_size mode pass_config splitting_ops
            use_inductor_graph_partition
        """,
        late="""
            cudagraph_decoder_replay cudagraph_mm_encoder decoder_replay_cudagraph_capture_sizes
            decoder_replay_trim_threshold encoder_cudagraph_max_frames_per_batch
            encoder_cudagraph_max_vision_items_per_batch encoder_cudagraph_token_budgets
            ir_enable_torch_wrap
        """,
    ),
    "--compilation-config.dynamic_shapes_config": _keys("assume_32_bit_indexing evaluate_guards type"),
    "--compilation-config.pass_config": _keys(
        """
            eliminate_noops enable_qk_norm_rope_fusion fi_allreduce_fusion_max_size_mb
            fuse_act_padding fuse_act_quant fuse_allreduce_rms fuse_attn_quant fuse_norm_quant
            fuse_rope_kvcache rope_kvcache_fusion_max_token_num
        """,
        early="enable_sp fuse_gemm_comms sp_min_token_num",
        late="""
            fuse_mla_dual_rms_norm fuse_qk_norm_rope_kvcache fuse_rope_kvcache_cat_mla
        """,
    ),
    "--diffusion-config": _keys("canvas_length max_denoising_steps"),
    "--ec-manager-config": _keys("encoder_cache_manager_cls manager_config"),
    "--ec-transfer-config": _keys(
        """
            ec_buffer_device ec_buffer_size ec_connector ec_connector_extra_config
            ec_connector_module_path ec_ip ec_port ec_role engine_id
        """,
        early="ec_parallel_size ec_rank",
    ),
    "--engram-config": _keys("cpu_offload dp_shared_memory embedding_across_dp use_thp"),
    "--eplb-config": _keys(
        """
            log_balancedness log_balancedness_interval num_redundant_experts policy
            step_interval use_async window_size
        """,
        late="communicator enable_migration_batching",
    ),
    "--fault-tolerance-config": _keys("engine_recovery_timeout_sec"),
    "--ir-op-priority": _keys("fused_add_rms_norm gelu_and_mul_sparse rms_norm"),
    "--kernel-config": _keys(
        "enable_flashinfer_autotune moe_backend",
        late="""
            enable_cutedsl_warmup enable_jit_warmup enable_rocm_segmented_attn_autotune
            ir_op_priority linear_backend linear_backend_per_quant sparse_indexer_topk_backend
        """,
        newest="monokernel",
    ),
    "--kernel-config.ir_op_priority": _keys("fused_add_rms_norm gelu_and_mul_sparse rms_norm"),
    "--kv-events-config": _keys(
        """
            buffer_steps enable_kv_cache_events endpoint hwm max_queue_size publisher
            replay_endpoint topic
        """,
    ),
    "--kv-transfer-config": _keys(
        """
            enable_permute_local_kv engine_id kv_buffer_device kv_connector
            kv_connector_extra_config kv_connector_module_path kv_load_failure_policy kv_port
            kv_role
        """,
        early="kv_buffer_size kv_ip kv_parallel_size kv_rank",
    ),
    "--logging-config": _keys("configure_logging formatter log_level pylogging_config_file"),
    "--pooler-config": _keys(
        """
            dimensions enable_chunked_processing max_embed_len pooling_type returned_token_ids
            seq_pooling_type step_tag_id tok_pooling_type use_activation
        """,
        early="logit_bias",
        late="enable_flash_late_interaction logit_mean logit_sigma task",
    ),
    "--profiler-config": _keys(
        """
            active_iterations delay_iterations ignore_frontend max_iterations profiler
            torch_profiler_dir torch_profiler_dump_cuda_time_total torch_profiler_record_shapes
            torch_profiler_use_gzip torch_profiler_with_flops torch_profiler_with_memory
            torch_profiler_with_stack wait_iterations warmup_iterations
        """,
        late="""
            capture_torch_profiler detailed_trace_annotation proton_backend proton_context
            proton_data proton_graph_attribution proton_hook proton_mode proton_output_format
            proton_profiler_dir torch_profiler_activities
        """,
    ),
    "--quantization-config": _keys("ignore linear moe targets"),
    "--reasoning-config": _keys("reasoning_end_str reasoning_parser reasoning_start_str"),
    "--structured-outputs-config": _keys(
        """
            backend disable_additional_properties disable_any_whitespace enable_in_reasoning
            reasoning_parser reasoning_parser_plugin
        """,
    ),
    "--watchdog-config": _keys("check_interval dump_dir timeout"),
    "--watermark-config": _keys(
        """
            algorithm allow_target_only_watermarking alpha context_width deduplicate_contexts
            deduplicate_contexts_max_history key prf
        """,
    ),
    "--weight-transfer-config": _keys("backend"),
}

# Keys that were gone before 0.18 and that recipes still name: what to write instead.
GONE_BEFORE: dict[str, dict[str, str]] = {
    "--compilation-config": {
        "level": "write mode",
        "use_cudagraph": "write cudagraph_mode NONE where it was false, or remove it",
        "full_cuda_graph": "write cudagraph_mode FULL where it was true, or remove it",
        "use_inductor": "write backend eager where it was false, or remove it",
        "compile_ranges_split_points": "write compile_ranges_endpoints",
    },
    "--compilation-config.pass_config": {
        "enable_fusion": "write fuse_norm_quant and fuse_act_quant",
        "enable_noop": "write eliminate_noops",
        "enable_attn_fusion": "write fuse_attn_quant",
        "enable_fi_allreduce_fusion": "write fuse_allreduce_rms",
        "enable_sequence_parallelism": "remove it; vLLM no longer has the pass",
        "enable_async_tp": "remove it; vLLM no longer has the pass",
    },
}
