# The command with every tool of a rehearsal as its project releases it: nothing is built, and no Go is needed.
# See docs/rehearsal.md, "Sources of tools".
FROM python:3.12-slim-bookworm AS command
RUN useradd --create-home --uid 1000 fleet \
    && install --directory --owner=fleet /opt/dra-fleet /opt/dra-fleet/cache
USER fleet
ENV DRA_FLEET_CACHE=/opt/dra-fleet/cache \
    PATH=/opt/dra-fleet/environment/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
COPY --chown=fleet . /opt/dra-fleet/source
RUN python -m venv /opt/dra-fleet/environment \
    && pip install --constraint /opt/dra-fleet/source/requirements.lock "/opt/dra-fleet/source[all]"
RUN DRA_FLEET_TOOLS=download dra-fleet rehearse tools --minors
WORKDIR /home/fleet
ENTRYPOINT ["dra-fleet"]
CMD ["--help"]

# What make and the tests take besides: they run what is built.
FROM command AS development
USER root
# The base image's release decides their versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc git libc6-dev make \
    && rm -rf /var/lib/apt/lists/*
COPY --from=golang:1.26-bookworm /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:$PATH
USER fleet
ENTRYPOINT []
CMD ["bash"]
