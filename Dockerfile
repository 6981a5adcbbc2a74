# docker build --build-arg VERSION=… --build-arg REVISION=$(git rev-parse --short=12 HEAD) --tag crdb-exporter .
# By digest, so that builds are reproducible; docs/installation.md explains how to update them.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
ARG RUNTIME_IMAGE=debian:bookworm-20261005-slim@sha256:7c7b2c966bc9ee8cedfeef67e0e279108992c77681fa595db4a9d65c06ccc587

# Node.js of the target platform.
FROM ${NODE_IMAGE} AS node

# The build makes the same files on every platform, so it runs on that of the builder.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY runtime/package.json runtime/
# Without the workspace, which installs Node.js for development.
RUN npm ci --workspaces=false --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY bin bin
COPY tools/release tools/release
COPY src src
COPY simulator simulator
COPY dashboards dashboards
COPY config/image config/image
ARG REVISION=unknown
RUN node tools/release/build.ts \
  && printf '%s\n' "$REVISION" > dist/revision \
  && npm prune --omit=dev --omit=optional --workspaces=false --no-audit --no-fund

# Only the node binary of the image above: no npm, no yarn.
FROM ${RUNTIME_IMAGE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="crdb-exporter" \
  org.opencontainers.image.description="Prometheus exporter for CockroachDB" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build --chmod=755 /src/config/image/crdb-exporter /usr/local/bin/crdb-exporter
COPY --from=build /src/node_modules /app/node_modules
COPY --from=build /src/dist /app/dist
COPY package.json LICENSE /app/
COPY config/prometheus/rules.template.yml /app/config/prometheus/
COPY docs/metrics.md docs/run-commands.md /app/docs/
COPY docs/runbooks /app/docs/runbooks
ENV NODE_ENV=production
# Numeric, so that Kubernetes can verify that it is not root; needs no entry in /etc/passwd and writes nothing.
USER 65532:65532
WORKDIR /app
EXPOSE 10137
# For the default address without TLS; otherwise override or disable it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/usr/local/bin/node", "--eval", "fetch('http://127.0.0.1:10137/-/healthy').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Exec form, so that the exporter receives signals as process 1. Commands run beside it: docker exec NAME crdb-exporter nodes
ENTRYPOINT ["/usr/local/bin/crdb-exporter"]
