"""What is known to go wrong and can't be known before the start. `docs/rules/` prints it."""

# What a spec does not tell, and why; who sees it instead.
NOT_CHECKABLE: tuple[tuple[str, str], ...] = (
    (
        "The HIP runtime and the driver of a node: graphs of ROCm 7.2 corrupt output (#46386)",
        "they are in the image and on the node; output agreement compares the arms before a pod is ready",
    ),
    (
        "Faults that only a long prompt brings (#40756, #57227, #50347)",
        "the length of prompts is traffic; restarts end a trial as Unhealthy",
    ),
    (
        "Acceptance that decays until the engine restarts (#41838, #11188)",
        "it is a matter of uptime; the guard watches after the promotion",
    ),
    (
        "Acceptance that differs by release or by model runner (#26191, #40551, #42004)",
        "it depends on checkpoint and traffic; a new image is a new revision and is tried again",
    ),
    (
        "Answers that prefix caching together with MTP changes (#43559), or concurrency (#35288), or nothing "
        "that was found (#53180)",
        "the reports contradict each other; output agreement compares the arms",
    ),
    (
        "Hangs in the capture of graphs (#39010), in adaptive verification (#54011), behind a healthy probe "
        "(#36960)",
        "no condition is known that a spec shows; startupSeconds and the watch for stalls end them",
    ),
    (
        "Memory that a crashed or sleeping engine has not given back (#42017, #37533)",
        "it is the node's state; the first refusal for lack of free memory is tried again",
    ),
    (
        "Memory of a device where amd.com/gpu is a partition (naming strategy `single`)",
        "only the node's labels tell, which is said where a pod finds no room; accelerator.type bounds the "
        "kind of GPU",
    ),
    (
        "Requests with min_p or logit_bias, which speculation answers with 400",
        "they are traffic; the guard on HTTP errors compares the arms",
    ),
    (
        "Tool calls and grammars that speculation breaks (#35800, #46118, #52620)",
        "they are traffic; the guards on HTTP errors and on output length compare the arms",
    ),
    (
        "A cold compile cache, which makes a young pod slow (ROCm/aiter#4055)",
        "it is the volume's state; warm-up keeps it out of the evidence",
    ),
    (
        "An image without AITER, or built for one architecture only",
        "it is inside the image; both arms have the same one",
    ),
    (
        "A release whose tests on AMD were red: most jobs of speculative decoding are optional there",
        "vLLM's CI is not asked; the trial compares the arms on this very image",
    ),
    (
        "A compile cache with ngram or suffix: AMD's CI turns it off for their tests",
        "no report says what goes wrong; output agreement compares the arms",
    ),
    (
        "The attention backend that runs after all",
        "what is said here is read from vLLM's sources; the engine's log has it in a line with `Using` and "
        "`backend`",
    ),
)

# What no rule looks for, because no accepted release has it or SpecDeploy's own pods avoid it, and why.
HANDLED: tuple[tuple[str, str], ...] = (
    (
        "ROCM_AITER_FA answers wrong with EAGLE-3 (#31625)",
        "ended by #32877, before the oldest release that is accepted",
    ),
    (
        "AITER refuses more than one drafted token (#28222)",
        "ended by #30430, before the oldest release that is accepted",
    ),
    (
        "A start of gpt-oss that fails on one MI355X after two hours of compiling (#32895)",
        "it was vLLM 0.14; startupSeconds bounds every start",
    ),
    (
        "Liveness probes that restart a busy engine (gonka 1421), or that call a dead one healthy "
        "(kserve 6259, prime-rl 2375)",
        "probes have long timeouts, and a hang is found from the engine's counters",
    ),
    (
        "Probes that kill an engine that starts slowly (ai-dynamo/snapshot 311, kserve 5062), or whose "
        "second of patience takes a busy pod from service (llm-d-benchmark 1734)",
        "every pod has a startup probe, and every probe a timeout of its own",
    ),
)
