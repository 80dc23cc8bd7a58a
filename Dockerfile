# The operator (default target) and the simulated engine (target `sim`).
#
#   docker build -t specdeploy .
#   docker build -t specdeploy-sim --target sim .
#
# Both run as uid 65532 and write nothing: a read-only root file system is enough for them.

ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS dependencies
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# pip stays in /build; only the environment without it goes into the images.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/specdeploy
WORKDIR /src
COPY requirements.lock requirements-dev.lock ./
# The build backend at the version that the lock names, so that a build does not depend on its day.
RUN /build/bin/pip install --quiet --constraint requirements-dev.lock hatchling \
 && /build/bin/pip --python /opt/specdeploy/bin/python install --quiet --no-compile --no-deps \
      --requirement requirements.lock
# Bytecode is made here because a read-only file system can't keep it. It trusts its source without a look
# at time stamps, which layers don't always keep. Of the synchronous Kubernetes client, which the operator
# does not call, only what is imported anyway is compiled.
RUN /opt/specdeploy/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      -x '/kubernetes/client/(api|models)/' /opt/specdeploy/lib

FROM dependencies AS product
COPY LICENSE README.md pyproject.toml ./
COPY operator operator
RUN /build/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /build/bin/pip --python /opt/specdeploy/bin/python install --quiet --no-compile --no-deps \
      --prefix /product /wheels/*.whl \
 && /opt/specdeploy/bin/python -m compileall -q --invalidation-mode unchecked-hash \
      -s /product -p /opt/specdeploy /product/lib

FROM ${BASE} AS runtime
# PATH is written out because a base image may set none. USER and HOME: this uid has no entry in /etc/passwd,
# where Python would look them up.
ENV PATH=/opt/specdeploy/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    USER=specdeploy \
    HOME=/
WORKDIR /
# Two layers: a change of the product leaves the large one as it is.
COPY --from=dependencies /opt/specdeploy /opt/specdeploy
COPY --from=product /product /opt/specdeploy

FROM runtime AS sim
LABEL org.opencontainers.image.title="specdeploy-sim" \
      org.opencontainers.image.description="A stand-in for vllm serve that needs no GPU." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN printf '#!/bin/sh\nexec python3 -m vllm_sim "$@"\n' > /usr/local/bin/vllm \
 && chmod 0755 /usr/local/bin/vllm
USER 65532:65532
EXPOSE 8000
ENTRYPOINT ["vllm", "serve"]

FROM runtime AS operator
LABEL org.opencontainers.image.title="specdeploy" \
      org.opencontainers.image.description="Serves vLLM with the drafter proven on your own live traffic." \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["specdeploy"]
CMD ["run"]
