/* iostall:backup_job */
-- Declared before: @name and @command. Adds a job without a schedule; nothing runs until somebody starts or schedules it.
IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j WHERE j.name = @name)
    RAISERROR (N'There is a job of this name already: delete or rename it first.', 16, 1);
ELSE
BEGIN
    -- A job of sa, by whatever name: that of a login that leaves would stop with it.
    DECLARE @job_id uniqueidentifier, @owner sysname = SUSER_SNAME(0x01);
    EXECUTE msdb.dbo.sp_add_job @job_name = @name, @enabled = 1, @owner_login_name = @owner, @job_id = @job_id OUTPUT;
    EXECUTE msdb.dbo.sp_add_jobstep
        @job_id = @job_id, @step_name = N'BACKUP', @subsystem = N'TSQL', @database_name = N'master',
        @on_success_action = 1, @on_fail_action = 2, @command = @command;
    EXECUTE msdb.dbo.sp_add_jobserver @job_id = @job_id, @server_name = N'(local)';
END;
