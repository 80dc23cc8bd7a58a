"""The OpenAI routes, as a client sees them."""

import asyncio
import json

import pytest

CHAT = {"model": "m", "messages": [{"role": "user", "content": "tell a story"}], "max_tokens": 20}
TEXT = {"model": "m", "prompt": "tell a story", "max_tokens": 20}
NGRAM = ("-sc", '{"method": "ngram", "num_speculative_tokens": 3}')


def events(body: str) -> list[dict]:
    """The JSON events of a stream that ends as it must."""
    lines = [line for line in body.split("\n") if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


async def test_a_chat_answer_that_is_not_streamed(simulate):
    async with simulate() as sim:
        status, answer = await sim.post("/v1/chat/completions", CHAT)
    assert (status, answer["object"]) == (200, "chat.completion")
    assert answer["choices"][0]["finish_reason"] == "length"
    assert len(answer["choices"][0]["message"]["content"].split()) == 20
    assert answer["usage"]["completion_tokens"] == 20
    assert answer["usage"]["total_tokens"] == 20 + answer["usage"]["prompt_tokens"]


async def test_a_completion_that_is_not_streamed(simulate):
    async with simulate() as sim:
        status, answer = await sim.post("/v1/completions", TEXT)
    assert (status, answer["object"], answer["model"]) == (200, "text_completion", "m")
    assert len(answer["choices"][0]["text"].split()) == 20


@pytest.mark.parametrize(("path", "body"), [("/v1/chat/completions", CHAT), ("/v1/completions", TEXT)])
async def test_a_stream_gives_the_same_text_as_the_whole_answer(simulate, path, body):
    async with simulate(*NGRAM) as sim:
        _, whole = await sim.post(path, body)
        _, stream = await sim.post(path, {**body, "stream": True})
    choices = [choice for event in events(stream) for choice in event["choices"]]
    text = "".join(choice.get("text") or choice.get("delta", {}).get("content") or "" for choice in choices)
    expected = whole["choices"][0]
    assert text == expected.get("text", expected.get("message", {}).get("content"))
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["length"]


@pytest.mark.parametrize(("options", "counted"), [({}, False), ({"include_usage": True}, True)])
async def test_a_stream_ends_with_the_usage_only_if_asked(simulate, options, counted):
    async with simulate() as sim:
        _, stream = await sim.post("/v1/completions", {**TEXT, "stream": True, "stream_options": options})
    last = events(stream)[-1]
    assert (last["choices"] == []) is counted
    assert (last.get("usage", {}).get("completion_tokens") == 20) is counted


async def test_baseline_and_drafter_say_the_same(simulate):
    async with simulate() as plain, simulate(*NGRAM) as drafting:
        answers = [await sim.post("/v1/completions", TEXT) for sim in (plain, drafting)]
    assert answers[0][1]["choices"] == answers[1][1]["choices"]


async def test_a_completion_tells_the_choices_for_each_token_as_vllm_does(simulate):
    async with simulate() as sim:
        _, answer = await sim.post("/v1/completions", {**TEXT, "logprobs": 2})
        _, best = await sim.post("/v1/completions", {**TEXT, "logprobs": 0})
        _, without = await sim.post("/v1/completions", TEXT)
    assert without["choices"][0]["logprobs"] is None
    told = answer["choices"][0]["logprobs"]
    assert "".join(told["tokens"]) == answer["choices"][0]["text"]
    assert {len(choices) for choices in told["top_logprobs"]} == {2}
    assert {len(choices) for choices in best["choices"][0]["logprobs"]["top_logprobs"]} == {1}
    for token, chosen, choices in zip(
        told["tokens"], told["token_logprobs"], told["top_logprobs"], strict=True
    ):
        assert chosen == choices[token] == max(choices.values()) < 0
    assert told["text_offset"][:2] == [0, len(told["tokens"][0])]


@pytest.mark.parametrize("count", [-1, 21, True, "2"])
async def test_too_many_choices_are_refused(simulate, count):
    async with simulate() as sim:
        status, _ = await sim.post("/v1/completions", {**TEXT, "logprobs": count})
    assert status == 400


@pytest.mark.parametrize("share", [0.2, 1.0])
async def test_a_corrupting_drafter_says_something_else_alike_in_whole_and_stream(simulate, share):
    async with simulate() as plain, simulate(*NGRAM, VLLM_SIM_CORRUPT_SHARE=str(share)) as wrong:
        _, right = await plain.post("/v1/completions", {**TEXT, "logprobs": 2})
        _, whole = await wrong.post("/v1/completions", {**TEXT, "logprobs": 2})
        _, stream = await wrong.post("/v1/completions", {**TEXT, "stream": True})
    pairs = zip(*(each["choices"][0]["logprobs"]["tokens"] for each in (right, whole)), strict=True)
    different = sum(one != other for one, other in pairs)
    assert different == 20 if share == 1 else 0 < different < 12
    text = "".join(choice["text"] for event in events(stream) for choice in event["choices"])
    assert text == whole["choices"][0]["text"]


@pytest.mark.parametrize(
    ("body", "path", "finish_reason"),
    [
        ({**CHAT, "max_tokens": None}, "/v1/chat/completions", "stop"),
        ({**CHAT, "max_tokens": None, "ignore_eos": True}, "/v1/chat/completions", "length"),
        ({**CHAT, "max_completion_tokens": 3}, "/v1/chat/completions", "length"),
        ({"model": "m", "prompt": "x"}, "/v1/completions", "length"),
    ],
)
async def test_how_answers_end(simulate, body, path, finish_reason):
    argv = ("--max-model-len", "1000")
    async with simulate(*argv, VLLM_SIM_ANSWER_TOKENS="5", VLLM_SIM_BASE_MS="0.1") as sim:
        _, answer = await sim.post(path, body)
    assert answer["choices"][0]["finish_reason"] == finish_reason


@pytest.mark.parametrize(
    ("argv", "path", "body", "status", "says"),
    [
        ((), "/v1/completions", {**TEXT, "model": "other"}, 404, "The model `other` does not exist."),
        ((), "/v1/completions", {**TEXT, "prompt": ""}, 400, "prompt must be"),
        ((), "/v1/completions", {**TEXT, "max_tokens": 0}, 400, "max_tokens must be at least 1"),
        ((), "/v1/completions", {**TEXT, "max_tokens": 99999}, 400, "maximum context length is 8192"),
        ((), "/v1/completions", {**TEXT, "n": 2}, 400, "n must be 1"),
        ((), "/v1/completions", [], 400, "JSON object"),
        ((), "/v1/chat/completions", {**CHAT, "messages": "hi"}, 400, "messages must be"),
        (
            NGRAM,
            "/v1/completions",
            {**TEXT, "min_p": 0.1},
            400,
            "not yet supported with speculative decoding",
        ),
        (
            NGRAM,
            "/v1/completions",
            {**TEXT, "logit_bias": {"1": 2}},
            400,
            "not yet supported with speculative",
        ),
    ],
)
async def test_requests_that_are_refused(simulate, argv, path, body, status, says):
    async with simulate(*argv) as sim:
        got, answer = await sim.post(path, body)
    assert (got, answer["error"]["code"]) == (status, status)
    assert says in answer["error"]["message"]


@pytest.mark.parametrize("extra", [{"min_p": 0.1}, {"logit_bias": {"1": 2}}, {"prompt": [1, 2, 3]}])
async def test_requests_that_a_baseline_serves(simulate, extra):
    async with simulate() as sim:
        assert (await sim.post("/v1/completions", {**TEXT, **extra}))[0] == 200


async def test_a_body_that_is_not_json_is_refused(simulate):
    async with simulate() as sim, sim.client.post("/v1/completions", data="{") as response:
        assert response.status == 400


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("/v1/models", None, 401),
        ("/v1/models", "wrong", 401),
        ("/v1/models", "secret", 200),
        ("/health", None, 200),
        ("/metrics", None, 200),
        ("/version", None, 200),
    ],
)
async def test_the_api_key_guards_v1_only(simulate, path, key, status):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with simulate("--api-key", "secret") as sim:
        assert (await sim.get(path, headers=headers))[0] == status


async def test_models_and_version(simulate):
    async with simulate("--served-model-name", "a", "b", "--max-model-len", "512") as sim:
        cards = json.loads((await sim.get("/v1/models"))[1])["data"]
        version = json.loads((await sim.get("/version"))[1])
        ping = await sim.post("/ping", {})
    assert [(card["id"], card["root"], card["max_model_len"]) for card in cards] == [
        ("a", "m", 512),
        ("b", "m", 512),
    ]
    assert version == {"version": "0.33.0"}
    assert ping[0] == 200


async def test_an_unknown_route_is_404_and_no_health_check_is_measured(simulate):
    async with simulate() as sim:
        assert (await sim.get("/nope"))[0] == 404
        await sim.get("/health")
        values = await sim.values()
    assert values['http_requests_total{handler="none",method="GET",status="4xx"}'] == 1
    assert not [name for name in values if 'handler="/health"' in name]


async def test_a_client_that_leaves_frees_its_place(simulate):
    async with simulate(VLLM_SIM_BASE_MS="50") as sim:
        response = await sim.client.post("/v1/completions", json={**TEXT, "max_tokens": 5000, "stream": True})
        await response.content.readline()
        assert not sim.running.loop.idle
        response.close()
        async with asyncio.timeout(120):
            while not sim.running.loop.idle:
                await asyncio.sleep(0.01)


async def test_knobs_change_a_running_engine(simulate):
    async with simulate(*NGRAM, VLLM_SIM_STICKY="0") as sim:
        shares = []
        for knobs in ({"q1": 1, "q": 1, "coverage": 1}, {"q1": 0}):
            status, now = await sim.post("/sim/knobs", knobs)
            assert (status, now["q1"]) == (200, knobs["q1"])
            before = await sim.values()
            await sim.post("/v1/completions", {**TEXT, "max_tokens": 100})
            after = await sim.values()
            name = "vllm:spec_decode_num_{}_tokens_total" + '{{engine="0",model_name="m"}}'
            accepted, drafted = (
                after[name.format(kind)] - before[name.format(kind)] for kind in ("accepted", "draft")
            )
            shares.append(accepted / drafted)
        assert json.loads((await sim.get("/sim/knobs"))[1])["q1"] == 0
    assert shares == [1, 0]


@pytest.mark.parametrize("body", [{"q1": 2}, {"nope": 1}, [1]])
async def test_a_wrong_knob_changes_nothing(simulate, body):
    async with simulate() as sim:
        before = await sim.get("/sim/knobs")
        assert (await sim.post("/sim/knobs", body))[0] == 400
        assert await sim.get("/sim/knobs") == before


@pytest.mark.parametrize(
    ("share", "stream", "status", "http"),
    [("1", False, 500, "5xx"), ("1", True, 200, "2xx"), ("0", False, 200, "2xx")],
)
async def test_an_error_of_the_engine_is_a_500_or_the_end_of_the_stream(
    simulate, share, stream, status, http
):
    async with simulate(VLLM_SIM_ERROR_SHARE=share) as sim:
        got, answer = await sim.post("/v1/completions", {**TEXT, "stream": stream})
        values = await sim.values()
    assert got == status
    assert ("Internal server error" in str(answer)) is (share == "1")
    if stream:
        assert answer.endswith("data: [DONE]\n\n")
    assert values[f'http_requests_total{{handler="/v1/completions",method="POST",status="{http}"}}'] == 1
    ended = "error" if share == "1" else "length"
    reason = f'vllm:request_success_total{{engine="0",finished_reason="{ended}",model_name="m"}}'
    assert values[reason] == 1


async def test_requests_that_are_refused_are_counted_by_status_and_handler(simulate):
    async with simulate(*NGRAM) as sim:
        before = await sim.values()
        for extra in ({"min_p": 0.1}, {"logit_bias": {"1": 2}}, {}):
            await sim.post("/v1/completions", {**TEXT, **extra})
        values = await sim.values()
    count = 'http_requests_total{{handler="/v1/completions",method="POST",status="{}"}}'
    assert count.format("4xx") not in before
    assert (values[count.format("4xx")], values[count.format("2xx")]) == (2, 1)


@pytest.mark.parametrize(
    ("argv", "suffix", "length"),
    [((), "", 8192), (NGRAM, "", 8192), (NGRAM, "512", 512), (NGRAM, "99999", 8192), ((), "512", 8192)],
    ids=["baseline", "a drafter as long", "a shorter drafter", "a longer drafter", "no drafter"],
)
async def test_a_drafter_lowers_the_longest_context_and_longer_requests_are_refused(
    simulate, argv, suffix, length
):
    async with simulate(*argv, VLLM_SIM_DRAFT_MAX_MODEL_LEN=suffix, VLLM_SIM_BASE_MS="0.01") as sim:
        [card] = json.loads((await sim.get("/v1/models"))[1])["data"]
        over, answer = await sim.post("/v1/completions", {"prompt": "hi", "max_tokens": length})
        within, _ = await sim.post("/v1/completions", {"prompt": "hi", "max_tokens": 500})
    assert card["max_model_len"] == length
    assert (over, within) == (400, 200)
    assert f"maximum context length is {length} tokens" in answer["error"]["message"]
