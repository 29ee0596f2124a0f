# wharf serve, made of the packages that `make debs` leaves in build/default/debs (docs/install.md, "Containers"):
#
#   docker build -f packaging/docker/server.Dockerfile -t wharf-server build/default/debs
#   docker run -p 7070:7070 -v "$PWD/token:/run/secrets/token:ro" wharf-server --sandbox weak
FROM debian:12-slim
COPY wharf-device_*.deb wharf-server_*.deb /debs/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /debs/*.deb \
 && rm -rf /debs /var/lib/apt/lists/* \
 && install -d -o wharf -g wharf /var/cache/wharf /var/lib/wharf \
 && printf 'listen = "0.0.0.0:7070"\ntoken-file = "/run/secrets/token"\n' >> /etc/wharf/serve.toml
ENV XDG_CACHE_HOME=/var/cache XDG_STATE_HOME=/var/lib
USER wharf
EXPOSE 7070
ENTRYPOINT ["wharf", "serve", "--config", "/etc/wharf/serve.toml"]
