# One image for gateway, worker, migrate and setup. Debian, since the Temporal SDK has no build for musl.
FROM node:20.20.2-bookworm-slim AS build
# For better-sqlite3, where no prebuilt one fits.
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 make g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: "prepare" builds, and its sources come with the next layer.
RUN npm ci --ignore-scripts --no-audit --no-fund && npm rebuild better-sqlite3
COPY . .
RUN node scripts/build.mjs \
    && find dist -name '*.map' -delete \
    && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:20.20.2-bookworm-slim
# The SDK's core trusts the system's certificates: a Temporal behind TLS needs them.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/package.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
COPY --from=build /app/agents/docs ./agents/docs
COPY --from=build /app/examples ./examples
COPY --from=build /app/deploy/healthy.mjs ./deploy/
ENV NODE_ENV=production PORT=8080
EXPOSE 8080
# Everything above belongs to root: the process cannot change its own code.
USER node
# A gateway's; the compose file gives workers their own.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "deploy/healthy.mjs", "http://127.0.0.1:8080/healthz"]
ENTRYPOINT ["node", "bin/everthread.js"]
CMD ["gateway"]
