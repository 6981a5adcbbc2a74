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
COPY . .
ARG REVISION=unknown
# The npm package, as it would be published, and the command that starts it.
RUN REVISION="$REVISION" npm pack --pack-destination /tmp \
  && mkdir -p /app /links \
  && tar -xzf /tmp/crdb-exporter-*.tgz -C /app --strip-components=1 \
  && node tools/release/unpacked.ts /app \
  && install -m 755 config/linux/crdb-exporter /app/bin/crdb-exporter \
  && ln -s /app/bin/node /app/bin/crdb-exporter /links/

# Only the node binary of the image above: no npm, no yarn.
FROM ${RUNTIME_IMAGE}
ARG VERSION=unknown
ARG REVISION=unknown
# docs/installation.md: those that name the place of your copy.
LABEL org.opencontainers.image.title="crdb-exporter" \
  org.opencontainers.image.description="Prometheus exporter for CockroachDB" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
COPY --from=node /usr/local/bin/node /app/bin/node
COPY --from=build /app /app
COPY --from=build /links /usr/local/bin
ENV NODE_ENV=production
# Numeric, so that Kubernetes can verify that it is not root; needs no entry in /etc/passwd and writes nothing.
USER 65532:65532
WORKDIR /app
EXPOSE 10137
# For the default address without TLS; otherwise override or disable it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/usr/local/bin/node", "--eval", "fetch('http://127.0.0.1:10137/-/healthy').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Exec form, so that the exporter receives signals as process 1. Commands run beside it: docker exec NAME crdb-exporter nodes
ENTRYPOINT ["/usr/local/bin/crdb-exporter"]
