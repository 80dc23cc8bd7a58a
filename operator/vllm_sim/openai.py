"""The OpenAI routes' language: requests read, responses and stream events written, without any I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vllm_sim import text

_UNSUPPORTED = "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding."
_COMPLETION_DEFAULT_TOKENS = 16
_MOST_LOGPROBS = 20


class RequestError(Exception):
    """Answered with `status` and vLLM's error body."""

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "BadRequestError", param: str | None = None
    ):
        super().__init__(message)
        self.status = status
        self.body = error_body(message, status=status, kind=kind, param=param)


@dataclass(frozen=True, slots=True)
class Asked:
    """One generation request, checked. `max_tokens` None: as long as the answer and the context allow.
    `logprobs`: of how many choices for each token; told of completions that are not streamed only."""

    chat: bool
    model: str
    prompt: str
    prompt_tokens: int
    max_tokens: int | None
    stream: bool
    include_usage: bool
    ignore_eos: bool
    logprobs: int | None = None


def read(body: Any, *, chat: bool, names: tuple[str, ...], max_model_len: int, speculating: bool) -> Asked:
    """Check a request's body against what the server serves. Raises RequestError."""
    if not isinstance(body, Mapping):
        raise RequestError("the request body must be a JSON object")
    model = body.get("model") or names[0]
    if model not in names:
        raise RequestError(
            f"The model `{model}` does not exist.", status=404, kind="NotFoundError", param="model"
        )
    if speculating and (body.get("min_p") or body.get("logit_bias")):
        raise RequestError(_UNSUPPORTED)
    if body.get("n", 1) not in (1, None):
        raise RequestError("n must be 1 in this engine", param="n")
    prompt, tokens = _chat_prompt(body.get("messages")) if chat else _completion_prompt(body.get("prompt"))
    limit = _limit(body, chat=chat)
    if tokens + (limit or 1) > max_model_len:
        raise RequestError(
            f"This model's maximum context length is {max_model_len} tokens. However, you requested "
            f"{limit or 1} output tokens and your prompt contains {tokens} input tokens. "
            "Please reduce the length of the input prompt or the number of requested output tokens."
        )
    options = body.get("stream_options") or {}
    return Asked(
        chat=chat,
        model=model,
        prompt=prompt,
        prompt_tokens=tokens,
        max_tokens=limit,
        stream=bool(body.get("stream")),
        include_usage=bool(isinstance(options, Mapping) and options.get("include_usage")),
        ignore_eos=bool(body.get("ignore_eos")),
        logprobs=None if chat else _logprobs(body.get("logprobs")),
    )


def compact(value: Any) -> str:
    """JSON without spaces, as vLLM's web framework writes it."""
    return json.dumps(value, separators=(",", ":"))


def error_body(message: str, *, status: int, kind: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def usage(asked: Asked, generated: int) -> dict[str, Any]:
    return {
        "prompt_tokens": asked.prompt_tokens,
        "total_tokens": asked.prompt_tokens + generated,
        "completion_tokens": generated,
        "prompt_tokens_details": None,
    }


def completion_logprobs(tokens: Sequence[str], start: int, count: int) -> dict[str, Any]:
    """`choices[].logprobs` of a completion whose text begins at position `start`: vLLM tells the token that
    was chosen and the `count` best, which it is one of."""
    chosen, tops, offsets = [], [], [0]
    for place, token in enumerate(tokens, start):
        first, second = text.logprobs(place)
        choices = {token: first, f"{token}s": second}
        chosen.append(first)
        tops.append(dict(list(choices.items())[: max(1, count)]))
        offsets.append(offsets[-1] + len(token))
    return {
        "text_offset": offsets[:-1],
        "token_logprobs": chosen,
        "tokens": list(tokens),
        "top_logprobs": tops,
    }


def response(
    asked: Asked,
    *,
    ident: str,
    created: int,
    answer: str,
    generated: int,
    reason: str,
    logprobs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of an answer that is not streamed."""
    common = {"index": 0, "logprobs": logprobs, "finish_reason": reason, "stop_reason": None}
    if asked.chat:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": answer,
            "refusal": None,
            "tool_calls": [],
            "reasoning": None,
        }
        choice = {**common, "message": message}
    else:
        choice = {**common, "text": answer}
    return {
        "id": ident,
        "object": "chat.completion" if asked.chat else "text_completion",
        "created": created,
        "model": asked.model,
        "choices": [choice],
        "system_fingerprint": None,
        "usage": usage(asked, generated),
    }


class EventWriter:
    """Server-sent events of one streamed answer. What all events share is rendered once."""

    def __init__(self, asked: Asked, *, ident: str, created: int) -> None:
        self._asked = asked
        kind = "chat.completion.chunk" if asked.chat else "text_completion"
        head = compact({"id": ident, "object": kind, "created": created, "model": asked.model})
        self._head = f"data: {head[:-1]},"

    def opening(self) -> bytes:
        """A chat stream begins with the role; a completion stream with its first text."""
        if not self._asked.chat:
            return b""
        return self._choice('"delta":{"role":"assistant","content":""}', None)

    def chunk(self, words: str, reason: str | None) -> bytes:
        quoted = compact(words)
        part = f'"delta":{{"content":{quoted}}}' if self._asked.chat else f'"text":{quoted}'
        return self._choice(part, reason)

    def closing(self, generated: int) -> bytes:
        """The usage, if it was asked for, and the end of the stream."""
        done = b"data: [DONE]\n\n"
        if not self._asked.include_usage:
            return done
        totals = compact(usage(self._asked, generated))
        return f'{self._head}"choices":[],"usage":{totals}}}\n\n'.encode() + done

    def _choice(self, part: str, reason: str | None) -> bytes:
        end = f'"{reason}","stop_reason":null' if reason else "null"
        choice = f'{{"index":0,{part},"logprobs":null,"finish_reason":{end}}}'
        return f'{self._head}"choices":[{choice}]}}\n\n'.encode()


def failed_stream(message: str) -> bytes:
    """How a stream ends when the engine dies: the status line is long gone."""
    error = compact(error_body(message, status=500, kind="InternalServerError"))
    return f"data: {error}\n\ndata: [DONE]\n\n".encode()


def _limit(body: Mapping[str, Any], *, chat: bool) -> int | None:
    limit = body.get("max_tokens")
    if chat and body.get("max_completion_tokens") is not None:
        limit = body["max_completion_tokens"]
    if limit is None:
        return None if chat else _COMPLETION_DEFAULT_TOKENS
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise RequestError(f"max_tokens must be at least 1, got {limit}.", param="max_tokens")
    return limit


def _logprobs(count: Any) -> int | None:
    if count is None:
        return None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_LOGPROBS:
        raise RequestError(
            f"Requested sample logprobs of {count}, which is greater than max allowed: {_MOST_LOGPROBS}",
            param="logprobs",
        )
    return count


def _chat_prompt(messages: Any) -> tuple[str, int]:
    if not isinstance(messages, list) or not messages or not all(isinstance(m, Mapping) for m in messages):
        raise RequestError("messages must be a list of messages", param="messages")
    parts = [_content(message.get("content")) for message in messages]
    return "\n".join(parts), sum(text.token_count(part) + 4 for part in parts)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def _completion_prompt(prompt: Any) -> tuple[str, int]:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return prompt, text.token_count(prompt)
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in prompt):
        return " ".join(map(str, prompt)), len(prompt)
    raise RequestError("prompt must be a text or a list of token ids", param="prompt")
