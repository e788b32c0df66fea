/* iostall:create_agent_job */
-- As a sysadmin, in the database with the schema iostall; for servers with SQL Server Agent. May be run again.
-- One job samples without end: it begins with the Agent, and once a minute if it is not running, so that a killed run is
-- taken up again. Another rolls up and purges each night.
SET NOCOUNT ON;
-- The jobs belong to sa, by whatever name: those of a login that leaves would stop with it.
DECLARE @database NVARCHAR(128) = DB_NAME(), @owner NVARCHAR(128) = SUSER_SNAME(0x01);

-- A job that is deleted while it runs would go on.
EXEC iostall.stop_run;
IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j WHERE j.name = N'iostall sample')
    EXEC msdb.dbo.sp_delete_job @job_name = N'iostall sample';
IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j WHERE j.name = N'iostall roll up and purge')
    EXEC msdb.dbo.sp_delete_job @job_name = N'iostall roll up and purge';

EXEC msdb.dbo.sp_add_job
    @job_name = N'iostall sample', @owner_login_name = @owner, @description = N'Samples the I/O counters of every file.';
EXEC msdb.dbo.sp_add_jobstep
    @job_name = N'iostall sample', @step_name = N'sample', @subsystem = N'TSQL', @database_name = @database,
    @command = N'/* iostall:job_sample */ EXEC iostall.run_samples @interval_s = 10;';
EXEC msdb.dbo.sp_add_jobschedule
    @job_name = N'iostall sample', @name = N'iostall with the Agent', @freq_type = 64;
EXEC msdb.dbo.sp_add_jobschedule
    @job_name = N'iostall sample', @name = N'iostall every minute', @freq_type = 4, @freq_interval = 1,
    @freq_subday_type = 4, @freq_subday_interval = 1;
EXEC msdb.dbo.sp_add_jobserver @job_name = N'iostall sample';

EXEC msdb.dbo.sp_add_job
    @job_name = N'iostall roll up and purge', @owner_login_name = @owner,
    @description = N'Adds samples to hours and days, then deletes old ones.';
EXEC msdb.dbo.sp_add_jobstep
    @job_name = N'iostall roll up and purge', @step_name = N'roll up and purge', @subsystem = N'TSQL',
    @database_name = @database,
    @command = N'/* iostall:job_roll_up */ EXEC iostall.roll_up_samples; EXEC iostall.purge_history;';
EXEC msdb.dbo.sp_add_jobschedule
    @job_name = N'iostall roll up and purge', @name = N'iostall every night', @freq_type = 4, @freq_interval = 1,
    @active_start_time = 21500;
EXEC msdb.dbo.sp_add_jobserver @job_name = N'iostall roll up and purge';
GO
