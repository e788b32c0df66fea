//! The separate clouds of Azure. Each has its own Entra, and its databases accept only tokens issued for them.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cloud {
    suffix: &'static str,
    /// What a token for its databases is issued for.
    pub(super) resource: &'static str,
    authority: &'static str,
}

/// Of everybody, and of servers outside Azure.
const PUBLIC: Cloud = Cloud {
    suffix: ".database.windows.net",
    resource: "https://database.windows.net/",
    authority: "https://login.microsoftonline.com",
};

const OTHERS: [Cloud; 2] = [
    Cloud {
        suffix: ".database.usgovcloudapi.net",
        resource: "https://database.usgovcloudapi.net/",
        authority: "https://login.microsoftonline.us",
    },
    Cloud {
        suffix: ".database.chinacloudapi.cn",
        resource: "https://database.chinacloudapi.cn/",
        authority: "https://login.chinacloudapi.cn",
    },
];

impl Cloud {
    pub(super) fn of_host(host: &str) -> Self {
        let host = host.to_ascii_lowercase();
        OTHERS.into_iter().find(|cloud| host.ends_with(cloud.suffix)).unwrap_or(PUBLIC)
    }

    /// Where an application of `tenant` gets its tokens; `authority` replaces the cloud's own.
    pub(super) fn token_url(self, authority: Option<&str>, tenant: &str) -> String {
        format!("{}/{tenant}/oauth2/v2.0/token", authority.unwrap_or(self.authority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cloud_of_a_server_is_in_its_name() {
        let url = |host: &str| Cloud::of_host(host).token_url(None, "t");
        assert_eq!(url("a.database.windows.net"), "https://login.microsoftonline.com/t/oauth2/v2.0/token");
        assert_eq!(
            url("a.Database.usgovcloudapi.net"),
            "https://login.microsoftonline.us/t/oauth2/v2.0/token"
        );
        assert_eq!(
            Cloud::of_host("a.b.database.chinacloudapi.cn").resource,
            "https://database.chinacloudapi.cn/"
        );
        assert_eq!(Cloud::of_host("sql1.corp.example"), PUBLIC);
    }
}
