# s3bench with the AWS CLI, as a user without root. `docker build -t s3bench .`, then `docker run --rm s3bench run -n 3`.
FROM python:3.13 AS build
ENV PREFIX=/opt/s3bench
COPY . /source
RUN python -m venv "$PREFIX" && "$PREFIX/bin/python" -m pip install --no-cache-dir --disable-pip-version-check "/source[charts]"
RUN S3BENCH_HOME="$PREFIX/clients" "$PREFIX/bin/s3bench" clients install aws-cli

FROM python:3.13-slim
ENV PREFIX=/opt/s3bench
RUN apt-get update --quiet=2 && apt-get install --quiet=2 --yes --no-install-recommends strace && rm -rf /var/lib/apt/lists/*
COPY --from=build --chown=1000:1000 /opt/s3bench /opt/s3bench
RUN useradd --create-home --uid 1000 s3bench && mkdir /work && chown s3bench /work
ENV PATH="$PREFIX/bin:$PATH" S3BENCH_HOME="$PREFIX/clients"
USER s3bench
WORKDIR /work
ENTRYPOINT ["s3bench"]
CMD ["--help"]
