# adaptc from this checkout, with the versions of libraries that it was tested with, by their hashes:
#   docker build --tag adaptc .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/srv" adaptc build public -o opt
FROM python:3.12-slim
COPY . /usr/src/adaptc
RUN cd /usr/src/adaptc && \
    pip install --no-cache-dir --require-hashes -r requirements.lock && pip install --no-cache-dir --no-deps . && rm -rf build
WORKDIR /srv
ENTRYPOINT ["adaptc"]
