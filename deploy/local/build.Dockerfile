# The base with every wheel of the lock, for builds that can't reach an index.
FROM proctor-local/base
COPY wheels /wheels
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
