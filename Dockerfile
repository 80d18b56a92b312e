# An image of the Debian packages that ./setup.sh image makes:
#   docker build -t simsgd -f Dockerfile build/release/packages
#   docker run --rm -v "$PWD:/work" simsgd quickstart
#   docker run --rm -it -v "$PWD:/work" --entrypoint python3 simsgd
# With notebooks: --build-arg EXTRA=jupyter-notebook, then
#   docker run --rm -p 8888:8888 -v "$PWD:/work" --entrypoint jupyter simsgd notebook --ip=0.0.0.0 --allow-root
# tests/python/image.sh makes the same root folder without Docker, and runs it.
FROM debian:bookworm-slim
ARG EXTRA=""
COPY simsgd_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/simsgd_*.deb dataset-fashion-mnist libpython3.11 python3-numpy python3-pandas python3-ipykernel ${EXTRA} \
 && rm -rf /tmp/simsgd_*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["simsgd"]
