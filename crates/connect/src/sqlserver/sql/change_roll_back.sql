/* iostall:change_roll_back */
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
