//! The minimum privileges of a login, as statements that an administrator can review and run.

use iostall_connect::Engine;

pub fn text(engine: Engine) -> &'static str {
    match engine {
        Engine::SqlServer => include_str!("grants/sqlserver.sql"),
        Engine::Postgres => include_str!("grants/postgres.sql"),
        Engine::Mysql => include_str!("grants/mysql.sql"),
        Engine::Linux => include_str!("grants/linux.txt"),
        Engine::Smart => include_str!("grants/smart.txt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_asks_for_more_than_reading() {
        for engine in [Engine::SqlServer, Engine::Postgres, Engine::Mysql, Engine::Linux, Engine::Smart] {
            let text = text(engine).to_ascii_uppercase();
            assert!(!text.contains("SUPERUSER") && !text.contains("ALL PRIVILEGES"), "{engine:?}");
            assert!(!text.contains("SYSADMIN") && text.len() > 100, "{engine:?}");
        }
    }
}
