# The server: gateways, workers, relays and migrations, by their command. What it is given and how it is run:
# docs/OPERATIONS.md and deploy/README.md.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY web-client/package.json web-client/
# Without scripts: one of them builds, and what it builds is not here yet.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY web-client web-client
# Built with all dependencies, and then without those of development, the optional binaries of Postgres, and the link to
# the web client, which the page already holds.
RUN npm run build \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && rm -rf node_modules/@ledgerline

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Ledgerline" \
  org.opencontainers.image.description="A session streaming server for AI agents" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
WORKDIR /app
COPY LICENSE package.json ./
COPY sql sql
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# By number, so that a platform can see that it is not root. It owns nothing here, and writes nothing.
USER 1000:1000
EXPOSE 8080 8081
# The program itself is process 1: it hears SIGTERM, and drains.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
# Of a gateway; a worker and a relay have a port of their own, if any. The internal listener speaks HTTP/1 always.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.LEDGERLINE_INTERNAL_PORT || 8081}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
