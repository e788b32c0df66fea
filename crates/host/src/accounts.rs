//! Accounts of this machine, as `/etc/passwd` lists them.

use crate::system::System;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its number where it has no name here.
    pub name: String,
    pub user: u32,
    pub group: u32,
}

impl System {
    pub fn account(&self, name: &str) -> Option<Account> {
        let number = name.parse::<u32>().ok();
        self.find_account(|account| account.name == name || Some(account.user) == number)
    }

    /// The numbers of the groups that list the account called `name` as a member. Its own group need not be among them.
    pub fn groups_of(&self, name: &str) -> Vec<u32> {
        let text = self.text("/etc/group").unwrap_or_default();
        text.lines().filter_map(|line| group_with(line, name)).collect()
    }

    fn find_account(&self, is_it: impl Fn(&Account) -> bool) -> Option<Account> {
        self.text("/etc/passwd")?.lines().filter_map(parse).find(is_it)
    }
}

/// `name:password:user:group:…`.
fn parse(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let name = fields.next()?.to_owned();
    let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Account { name, user, group })
}

/// The number of the group in `name:password:number:members`, if `member` is one of them.
fn group_with(line: &str, member: &str) -> Option<u32> {
    let mut fields = line.split(':').skip(2);
    let number = fields.next()?.parse().ok()?;
    fields.next()?.split(',').any(|one| one.trim() == member).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::made_up;

    #[test]
    fn an_account_is_found_by_its_name_and_by_its_number() {
        let text = "root:x:0:0:root:/root:/bin/sh\n# a comment\npostgres:x:105:110:PostgreSQL:/var/lib/postgresql:/bin/bash\n";
        let (_root, system) = made_up(&[("etc/passwd", text)]);
        let postgres = Account { name: "postgres".into(), user: 105, group: 110 };
        assert_eq!(system.account("postgres"), Some(postgres.clone()));
        assert_eq!(system.account("105"), Some(postgres));
        assert_eq!(system.account("mysql"), None);
    }

    #[test]
    fn an_account_is_in_the_groups_that_list_it() {
        let text = "root:x:0:\nssl-cert:x:112:postgres\nbackup:x:34:barman,postgres\nold:x:35:postgres2\nbad:x:y:postgres\n";
        let (_root, system) = made_up(&[("etc/group", text)]);
        assert_eq!(system.groups_of("postgres"), [112, 34]);
        assert_eq!(system.groups_of("mysql"), [0; 0]);
    }
}
