/* iostall:grant_roles */
-- Two roles, and no rights on the tables beyond reading: procedures write through ownership.
IF DATABASE_PRINCIPAL_ID(N'iostall_reader') IS NULL
    CREATE ROLE iostall_reader AUTHORIZATION dbo;
IF DATABASE_PRINCIPAL_ID(N'iostall_sampler') IS NULL
    CREATE ROLE iostall_sampler AUTHORIZATION dbo;
GRANT SELECT ON SCHEMA::iostall TO iostall_reader;
-- Not the whole schema: who samples may not purge.
REVOKE EXECUTE ON SCHEMA::iostall FROM iostall_sampler;
GRANT EXECUTE ON iostall.take_sample TO iostall_sampler;
GRANT EXECUTE ON iostall.run_samples TO iostall_sampler;
GRANT EXECUTE ON iostall.stop_run TO iostall_sampler;
GO
