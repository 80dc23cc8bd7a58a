"""Makes checkpoints small enough for the real vLLM to serve on a CPU, without any download.

    python -m tools.vllm.make_tiny_model OUT        (in the root of the repository)

Runs inside the vLLM venv (`environment.py` calls it once and keeps the result). Under OUT it writes

    target/        Qwen3, 4 layers, trained for some seconds on made-up text, so that its output has structure
    draft/         Qwen3, 1 layer, the same tokenizer                        (method draft_model)
    eagle3-head/   one EAGLE-3 layer of random weights                       (method eagle3)
    dflash-head/   one DFlash layer of random weights                        (method dflash)
    mtp/           a MiMo-shaped target with one random MTP layer of its own (method mtp)

A random head costs its real time and is never right: a drafter that truly makes serving slower.
The weights are the same on every run with the same library versions.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tools.vllm.tiny_text import conversation, example

ROLES = ["<|system|>", "<|user|>", "<|assistant|>"]
SPECIAL_TOKENS = ["<|pad|>", "<|bos|>", "<|end|>", *ROLES, "<|mask|>"]
PAD, BOS, EOS, MASK = 0, 1, 2, 6
VOCABULARY = 1024
CONTEXT = 512
HEAD_SIZE = 32  # the smallest that vLLM's CPU attention takes

CHAT_TEMPLATE = (
    "{{ '<|bos|>' }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Shape:
    """Sizes of one decoder: width, layers, attention heads and key-value heads."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int

    @property
    def intermediate(self) -> int:
        return 2 * self.hidden


TARGET = Shape(hidden=128, layers=4, heads=4, kv_heads=2)
DRAFT = Shape(hidden=64, layers=1, heads=2, kv_heads=1)


# --- target and draft ---------------------------------------------------------------------------------------


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    rng = random.Random(1)  # noqa: S311 (made-up text)
    tokenizer.train_from_iterator((" ".join(example(rng)) for _ in range(4000)), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL_TOKENS[BOS],
        eos_token=SPECIAL_TOKENS[EOS],
        pad_token=SPECIAL_TOKENS[PAD],
        model_max_length=CONTEXT,
        additional_special_tokens=[*ROLES, SPECIAL_TOKENS[MASK]],
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def training_tokens(tokenizer: PreTrainedTokenizerFast, count: int) -> torch.Tensor:
    rng = random.Random(7)  # noqa: S311 (made-up text)
    ids: list[int] = []
    while len(ids) < count:
        ids += tokenizer(conversation(rng), add_special_tokens=False)["input_ids"]
    return torch.tensor(ids)


def new_model(shape: Shape) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=HEAD_SIZE,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config)
    model.generation_config.update(eos_token_id=EOS, bos_token_id=BOS, pad_token_id=PAD)
    return model


def train(model: Qwen3ForCausalLM, tokens: torch.Tensor, steps: int) -> float:
    """Trains on random 128-token spans, 8 a step; returns the last loss (nats per token)."""
    batch, length, rate = 8, 128, 4e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    generator = torch.Generator().manual_seed(7)
    model.train()
    for _ in range(steps):
        starts = torch.randint(len(tokens) - length - 1, (batch,), generator=generator)
        spans = torch.stack([tokens[start : start + length] for start in starts])
        loss = model(input_ids=spans, labels=spans).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
    return float(loss.item())


# --- random heads -------------------------------------------------------------------------------------------


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(*shape) * 0.02


def decoder_layer(prefix: str, *, query_input: int = TARGET.hidden) -> Tensors:
    """Weights of one decoder layer as wide as the target; `query_input` is the width its attention reads."""
    hidden, inner = TARGET.hidden, TARGET.intermediate
    query, key_value = TARGET.heads * HEAD_SIZE, TARGET.kv_heads * HEAD_SIZE
    return {
        f"{prefix}self_attn.q_proj.weight": noise(query, query_input),
        f"{prefix}self_attn.k_proj.weight": noise(key_value, query_input),
        f"{prefix}self_attn.v_proj.weight": noise(key_value, query_input),
        f"{prefix}self_attn.o_proj.weight": noise(hidden, query),
        f"{prefix}mlp.gate_proj.weight": noise(inner, hidden),
        f"{prefix}mlp.up_proj.weight": noise(inner, hidden),
        f"{prefix}mlp.down_proj.weight": noise(hidden, inner),
        f"{prefix}input_layernorm.weight": torch.ones(hidden),
        f"{prefix}post_attention_layernorm.weight": torch.ones(hidden),
    }


def attention_biases(prefix: str) -> Tensors:
    query, key_value = TARGET.heads * HEAD_SIZE, TARGET.kv_heads * HEAD_SIZE
    return {
        f"{prefix}self_attn.q_proj.bias": torch.zeros(query),
        f"{prefix}self_attn.k_proj.bias": torch.zeros(key_value),
        f"{prefix}self_attn.v_proj.bias": torch.zeros(key_value),
    }


def head_config(**more: Any) -> dict[str, Any]:
    """The `config.json` keys that every head shares, with `more` on top."""
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": TARGET.hidden,
        "intermediate_size": TARGET.intermediate,
        "num_attention_heads": TARGET.heads,
        "num_key_value_heads": TARGET.kv_heads,
        "head_dim": HEAD_SIZE,
        "num_hidden_layers": 1,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "torch_dtype": "float32",
        "tie_word_embeddings": False,
        "rope_theta": 10000.0,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        **more,
    }


def save_checkpoint(folder: Path, tensors: Tensors, config: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    dense = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(dense, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def save_eagle3_head(folder: Path) -> None:
    """EAGLE-3: `fc` merges three hidden states of the target; the layer reads them beside the embedding."""
    hidden = TARGET.hidden
    tensors = decoder_layer("midlayer.", query_input=2 * hidden) | {
        "midlayer.hidden_norm.weight": torch.ones(hidden),
        "fc.weight": noise(hidden, 3 * hidden),
        "norm.weight": torch.ones(hidden),
        "lm_head.weight": noise(VOCABULARY, hidden),
    }
    config = head_config(
        model_type="llama",
        architectures=["LlamaForCausalLMEagle3"],
        draft_vocab_size=VOCABULARY,
        eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 3]},
    )
    save_checkpoint(folder, tensors, config)


def save_dflash_head(folder: Path) -> None:
    """DFlash: drafts a block of masked positions at once from two hidden states of the target."""
    hidden = TARGET.hidden
    tensors = decoder_layer("layers.0.") | {
        "layers.0.self_attn.q_norm.weight": torch.ones(HEAD_SIZE),
        "layers.0.self_attn.k_norm.weight": torch.ones(HEAD_SIZE),
        "fc.weight": noise(hidden, 2 * hidden),
        "hidden_norm.weight": torch.ones(hidden),
        "norm.weight": torch.ones(hidden),
    }
    config = head_config(
        model_type="qwen3",
        architectures=["DFlashDraftModel"],
        block_size=4,
        dflash_config={"mask_token_id": MASK, "target_layer_ids": [1, 2]},
    )
    save_checkpoint(folder, tensors, config)


def save_mtp_target(folder: Path, embedding: torch.Tensor) -> None:
    """A target of its own, two random layers in MiMo's form, whose checkpoint carries one MTP layer."""
    hidden = TARGET.hidden
    tensors: Tensors = {
        "model.embed_tokens.weight": embedding,
        "lm_head.weight": embedding.clone(),
        "model.norm.weight": torch.ones(hidden),
    }
    extra = "model.mtp_layers.0."
    for prefix in ("model.layers.0.", "model.layers.1.", extra):
        tensors |= decoder_layer(prefix) | attention_biases(prefix)
    tensors |= {
        f"{extra}token_layernorm.weight": torch.ones(hidden),
        f"{extra}hidden_layernorm.weight": torch.ones(hidden),
        f"{extra}final_layernorm.weight": torch.ones(hidden),
        f"{extra}input_proj.weight": noise(hidden, 2 * hidden),
    }
    config = head_config(
        model_type="qwen2",
        architectures=["MiMoForCausalLM"],
        num_hidden_layers=2,
        num_nextn_predict_layers=1,
    )
    save_checkpoint(folder, tensors, config)


# --- all of it ----------------------------------------------------------------------------------------------


def make_all(out: Path) -> None:
    tokenizer = make_tokenizer()
    tokens = training_tokens(tokenizer, count=400_000)
    target, draft = new_model(TARGET), new_model(DRAFT)
    for name, model, steps in (("target", target, 300), ("draft", draft, 200)):
        loss = train(model, tokens, steps)
        print(f"{name}: {steps} steps, loss {loss:.3f}", flush=True)
        model.save_pretrained(out / name)
        tokenizer.save_pretrained(out / name)
    torch.manual_seed(1)
    save_eagle3_head(out / "eagle3-head")
    save_dflash_head(out / "dflash-head")
    save_mtp_target(out / "mtp", target.get_input_embeddings().weight.detach().clone())
    tokenizer.save_pretrained(out / "mtp")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make tiny checkpoints for the real vLLM on a CPU.")
    parser.add_argument("out", type=Path)
    torch.set_num_threads(1)  # nearly as fast at this size, and on busy cores many times faster
    make_all(parser.parse_args().out)


if __name__ == "__main__":
    main()
