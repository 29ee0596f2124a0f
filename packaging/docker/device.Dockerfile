# What a CUDA program needs to run on a server, made of the package that `make debs` leaves in build/default/debs:
#
#   docker build -f packaging/docker/device.Dockerfile -t wharf-device build/default/debs
#   docker run -v "$PWD:/work:ro" -w /work wharf-device run --server edge:7070 --token-file token -- ./program
FROM debian:12-slim
COPY wharf-device_*.deb /debs/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /debs/*.deb \
 && rm -rf /debs /var/lib/apt/lists/*
ENTRYPOINT ["wharf"]
