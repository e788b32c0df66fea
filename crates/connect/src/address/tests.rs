use super::*;

#[test]
fn a_url_says_who_where_and_how() {
    let address: Address = "postgres://mon%40corp@db1:5433/sales?password-file=/etc/pw".parse().unwrap();
    assert_eq!(address.user, "mon@corp");
    assert_eq!((address.host.as_str(), address.port), ("db1", 5433));
    assert_eq!(address.password, PasswordFrom::File("/etc/pw".into()));
    assert_eq!(address.tls, Tls::Verify, "a network is not trusted by default");
    assert_eq!(address.to_string(), "postgres://db1:5433/sales");
}

#[test]
fn a_password_in_the_url_is_refused_without_repeating_it() {
    for text in ["mysql://u:hunter2@db1/", "sqlserver://u@db1?password=hunter2"] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.hint().contains("password-file"), "{}", error.hint());
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    // Nor is it where the rest is no URL.
    for text in ["mysql://u:hunter2@db1:99999/", "u:hunter2@db1", "mysql://u:hunter2@:x@[db1/"] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let error = "mysql://u@db1:99999".parse::<Address>().unwrap_err().to_string();
    assert!(error.contains("u@db1:99999"), "{error}");
}

#[test]
fn an_ipv6_address_has_brackets_in_names_and_none_in_connections() {
    let address: Address = "postgres://mon@[::1]:5433/x".parse().unwrap();
    assert_eq!((address.host.as_str(), address.tls.clone()), ("::1", Tls::Off));
    assert_eq!(address.to_string(), "postgres://[::1]:5433/x");
}

/// Debian runs several clusters with sockets in one directory. They shared one history.
#[test]
fn two_servers_with_sockets_in_one_directory_have_names_of_their_own() {
    let name = |url: &str| url.parse::<Address>().unwrap().to_string();
    assert_eq!(name("postgres://u@localhost/x?socket=/run/postgresql"), "postgres:///run/postgresql/x");
    assert_eq!(
        name("postgres://u@localhost:5433/x?socket=/run/postgresql"),
        "postgres:///run/postgresql:5433/x"
    );
}

#[test]
fn loopback_and_sockets_are_local_and_need_no_encryption() {
    let socket: Address = "postgres://mon@localhost/sales?socket=/run/postgresql".parse().unwrap();
    assert!(socket.is_socket() && socket.tls == Tls::Off);
    let kept: Address = "mysql://mon@127.0.0.1?tls=unverified".parse().unwrap();
    assert_eq!(kept.tls, Tls::Unverified);
    assert_eq!(kept.port, 3306);
}

#[test]
fn the_host_itself_is_a_source() {
    assert_eq!("linux:".parse::<Address>().unwrap().to_string(), "linux:");
}

#[test]
fn what_is_not_known_is_refused() {
    assert!(matches!("oracle://x".parse::<Address>(), Err(AddressError::Engine(_))));
    assert!(matches!("db1".parse::<Address>(), Err(AddressError::NotUrl { .. })));
    assert!(matches!("mysql://x?tsl=on".parse::<Address>(), Err(AddressError::Parameter { .. })));
    assert!(matches!("mysql://x?tls=maybe".parse::<Address>(), Err(AddressError::Value { .. })));
}

/// `?ca=X&tls=off` was taken, and nothing was encrypted.
#[test]
fn certificates_to_check_and_no_check_are_a_contradiction() {
    for url in [
        "mysql://u@x?ca=/c&tls=off",
        "mysql://u@x?tls=off&ca=/c",
        "postgres://u@x?tls=unverified&ca=/c",
        "sqlserver://u@127.0.0.1?tls=off&ca=/c",
    ] {
        let error = url.parse::<Address>().unwrap_err();
        assert!(matches!(error, AddressError::Contradiction { .. }), "{url}: {error}");
    }
    let both: Address = "mysql://u@x?ca=/c&tls=on".parse().unwrap();
    assert_eq!(both.tls, Tls::VerifyWith("/c".into()));
}

/// `?socket=X&tls=on` of MySQL was taken, and nothing was encrypted.
#[test]
fn a_socket_that_is_to_be_encrypted_is_refused_by_name() {
    for url in [
        "mysql://u@localhost?socket=/s&tls=on",
        "mysql://u@h?tls=unverified&socket=/s",
        "mysql://h?socket=/s&ca=/c",
    ] {
        let error = url.parse::<Address>().unwrap_err();
        assert!(matches!(error, AddressError::SocketTls { .. }), "{url}: {error}");
    }
    assert!("mysql://u@h?socket=/s&tls=off".parse::<Address>().is_ok());
}

/// What followed a NUL in a name was read by the server as the next part of the login.
#[test]
fn a_nul_in_a_name_is_refused() {
    for url in ["mysql://u%00x@h", "mysql://u@h/d%00x", "postgres://u%00@h/d"] {
        let error = url.parse::<Address>().unwrap_err();
        assert!(matches!(error, AddressError::Nul { .. }), "{url}: {error}");
    }
}

fn read(text: &str) -> Address {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Connection strings were taken for the name of a host, and stored as one.
#[test]
fn connection_strings_say_what_a_url_says() {
    for (text, url) in [
        (
            "Server=tcp:h,1433;Database=d;User ID=u;Encrypt=True;TrustServerCertificate=False",
            "sqlserver://u@h/d?tls=on",
        ),
        (
            "Data Source=h\\SALES,14330;Initial Catalog=a b;uid=u;TrustServerCertificate=yes",
            "sqlserver://u@h:14330/a%20b?tls=unverified",
        ),
        ("server=(local);database=d;user id=u;encrypt=optional", "sqlserver://u@localhost/d?tls=off"),
        ("Driver={ODBC Driver 18 for SQL Server};Server=h;UID=u;Database={a;b}", "sqlserver://u@h/a%3Bb"),
        (
            "jdbc:sqlserver://h:1434;databaseName=d;user=u;encrypt=true;trustServerCertificate=true;loginTimeout=30;",
            "sqlserver://u@h:1434/d?tls=unverified",
        ),
        (
            "jdbc:sqlserver://h\\I1:1434;user={u}}x};password-file=/etc/pw",
            "sqlserver://u%7Dx@h:1434?password-file=/etc/pw",
        ),
        ("sqlserver://h;databaseName=d;user=u", "sqlserver://u@h/d"),
        ("sqlserver://Server=h;Database=d", "sqlserver://h/d"),
        (
            "jdbc:postgresql://h:5433/d?user=u&sslmode=verify-full&ApplicationName=x",
            "postgres://u@h:5433/d?tls=on",
        ),
        ("jdbc:mysql://h:3307/d?user=u&useSSL=false", "mysql://u@h:3307/d?tls=off"),
        (
            "host=h port=5433 dbname='my db' user=u sslmode=require",
            "postgres://u@h:5433/my%20db?tls=unverified",
        ),
        ("host=/run/postgresql user=u dbname=d", "postgres://u@localhost/d?socket=/run/postgresql"),
        ("host=h user=u sslmode=verify-ca sslrootcert=/c.pem", "postgres://u@h?ca=/c.pem"),
        ("Host=h;Port=5432;Username=u;Database=d;SSL Mode=VerifyFull", "postgres://u@h/d?tls=on"),
        ("Server=h;Port=3306;Database=d;Uid=u;SslMode=None", "mysql://u@h/d?tls=off"),
        ("Server=::1;User ID=u", "sqlserver://u@[::1]"),
    ] {
        assert_eq!(read(text), read(url), "{text}");
    }
}

#[test]
fn a_password_in_a_connection_string_is_refused_and_the_rest_becomes_a_url() {
    for (text, url) in [
        (
            "Server=tcp:h,1433;Database=d;User ID=u;Password=hunter2;Encrypt=True;TrustServerCertificate=True",
            "sqlserver://u@h/d?tls=unverified",
        ),
        ("jdbc:sqlserver://h:1433;databaseName=d;user=u;password=hunter2;encrypt=true", "sqlserver://u@h/d"),
        ("jdbc:postgresql://h/d?user=u&password=hunter2", "postgres://u@h/d"),
        ("host=h dbname=d user=u password='hunter2 x'", "postgres://u@h/d"),
        ("Driver={MySQL ODBC 8.0};Server=h;UID=u;PWD={hunter2;x};Database=d", "mysql://u@h/d"),
        ("sqlserver://u:hunter2@h:1434;databaseName=d", "sqlserver://u@h:1434/d"),
        ("postgres://u:hunter2@h/d", "postgres://u@h/d"),
    ] {
        let error = text.parse::<Address>().unwrap_err();
        let AddressError::PasswordInUrl { instead, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(instead.as_deref(), Some(url), "{text}");
        let said = format!("{error} {} {error:?}", error.hint());
        assert!(!said.contains("hunter2"), "{said}");
        assert!(said.contains("password-file=PATH") && said.contains("password=prompt"), "{said}");
    }
}

/// What cannot be read may hold a password in any place.
#[test]
fn no_message_repeats_what_may_be_a_password() {
    for text in [
        "Server=h,x;User ID=u;Password=hunter2",
        "Server=h;Port=no;Password=hunter2",
        "Password=hunter2;Server=h y",
        "Password=a;hunter2;Encrypt=maybe;Server=h",
        "user=u password=hunter2",
        "sqlserver://iostall@sql1:1433?ca=/etc/ca.pem;Password=hunter2",
        "sqlserver://h/Database=d;Password=hunter2",
        "sqlserver://h/Password=hunter2",
        "jdbc:oracle://h;password=hunter2",
        "postgres://u:hunter2",
        "postgres://u:hunt/er2@h@",
        "mysql://u@h?pass%77ord=hunter2",
        "mysql://u@h?pass%77ord=hunter2&tsl=on",
        "Server=h\\X;Pwd=hunter2",
    ] {
        let error = text.parse::<Address>().unwrap_err();
        let said = format!("{error} {} {error:?}", error.hint());
        assert!(!said.contains("hunter2") && !said.contains("er2"), "{text}: {said}");
    }
}

#[test]
fn what_a_connection_string_wants_and_cannot_have_is_said() {
    let refused = |text: &str| text.parse::<Address>().unwrap_err();
    assert!(matches!(refused("Server=h\\SA LES;User ID=u"), AddressError::Instance { .. }));
    assert!(matches!(refused("sqlserver://u@h?instance="), AddressError::Instance { .. }));
    assert!(matches!(refused("Server=h,x;User ID=u"), AddressError::Port { .. }));
    assert!(matches!(refused("Server=h;Encrypt=perhaps"), AddressError::Value { .. }));
    assert!(matches!(refused("postgres://a;b/x"), AddressError::Host { .. }));
}

/// `host\\INSTANCE` and `host,port` are how DBAs write a SQL Server, and neither was understood in a URL.
#[test]
fn a_named_instance_and_a_port_behind_a_comma_are_understood() {
    for (text, name, url) in [
        ("sqlserver://u@h\\SALES/d", "sqlserver://h\\SALES/d", "sqlserver://u@h/d?instance=SALES"),
        ("sqlserver://u@h?instance=SALES", "sqlserver://h\\SALES", "sqlserver://u@h?instance=SALES"),
        ("Server=h\\SALES;User ID=u", "sqlserver://h\\SALES", "sqlserver://u@h?instance=SALES"),
        ("sqlserver://u@h,14330", "sqlserver://h:14330", "sqlserver://u@h:14330"),
        (
            "sqlserver://u@h\\SALES,14330/d?tls=off",
            "sqlserver://h:14330/d",
            "sqlserver://u@h:14330/d?tls=off",
        ),
        ("sqlserver://u@h\\MSSQLSERVER", "sqlserver://h:1433", "sqlserver://u@h"),
        ("mssql://h\\SALES", "sqlserver://h\\SALES", "sqlserver://h?instance=SALES"),
    ] {
        let address = read(text);
        assert_eq!((address.to_string().as_str(), address.url().as_str()), (name, url), "{text}");
    }
    let refused = "sqlserver://u:secret@h\\SALES".parse::<Address>().unwrap_err().to_string();
    assert!(refused.contains("password") && !refused.contains("secret"), "{refused}");
}

/// Windows and Entra accounts could only be refused, and their names in other programs' settings with them.
#[test]
fn accounts_of_entra_are_understood_in_urls_and_connection_strings() {
    for (text, url) in [
        (
            "Server=tcp:h,1433;Database=d;Authentication=Active Directory Managed Identity",
            "sqlserver://h/d?auth=managed-identity",
        ),
        (
            "jdbc:sqlserver://h;databaseName=d;authentication=ActiveDirectoryMSI;user=id-1",
            "sqlserver://id-1@h/d?auth=managed-identity",
        ),
        ("Server=h;Authentication=SqlPassword;User ID=u", "sqlserver://u@h"),
        (
            "Driver={ODBC Driver 18 for SQL Server};Server=h;UID=app;Authentication=ActiveDirectoryServicePrincipal;tenant=t;password-file=/s",
            "sqlserver://app@h?auth=service-principal&tenant=t&password-file=/s",
        ),
    ] {
        assert_eq!(read(text), read(url), "{text}");
    }
    let token = |from| Auth::Entra(Entra::Token(from));
    for (setting, auth) in [
        ("token-file=/t", token(TokenFrom::File("/t".into()))),
        ("token-env=T", token(TokenFrom::Environment("T".into()))),
        (
            "token-command=az account get-access-token -o tsv",
            token(TokenFrom::Command(
                ["az", "account", "get-access-token", "-o", "tsv"].map(Into::into).into(),
            )),
        ),
    ] {
        let address = read(&format!("sqlserver://localhost/d?auth=entra&{setting}"));
        assert_eq!((&address.auth, &address.tls), (&auth, &Tls::Verify), "a token is always protected");
        assert_eq!(read(&address.url()), address, "{}", address.url());
        assert_eq!(
            address.to_string(),
            "sqlserver://localhost:1433/d",
            "history stays when the login changes"
        );
    }
}

#[test]
fn a_login_that_cannot_be_is_refused_with_what_to_write() {
    for (text, wanted) in [
        ("sqlserver://h?auth=entra", "token-command=COMMAND"),
        ("sqlserver://h?auth=entra&token-command=%20", "token-command=COMMAND"),
        ("sqlserver://u@h?auth=entra&token-env=T", "leave out the user"),
        ("sqlserver://h?auth=entra&token-env=T&password-env=P", "leave out the password"),
        ("sqlserver://h?token-env=T", "auth=entra"),
        ("sqlserver://u@h?tenant=t", "auth=service-principal"),
        ("sqlserver://u@h?auth=service-principal&password-env=P", "tenant=TENANT"),
        ("sqlserver://u@h?auth=service-principal&tenant=t", "password-file=PATH"),
        ("sqlserver://u@h?auth=service-principal&tenant=a/b&password-env=P", "tenant=TENANT"),
        (
            "sqlserver://u@h?auth=service-principal&tenant=t&password-env=P&authority=http://login.example",
            "https address",
        ),
        ("sqlserver://h?auth=managed-identity&tls=unverified", "ca=FILE"),
        ("Server=h;Authentication=Active Directory MSI;TrustServerCertificate=yes", "TrustServerCertificate"),
        ("Server=h;Authentication=Active Directory Interactive;User ID=u@x", "token-command=COMMAND"),
        ("Server=h;auth=entra;token-command=cat /etc/hostname", "write a URL"),
        (
            "jdbc:sqlserver://h;integratedSecurity=true;authenticationScheme=NTLM",
            "auth=integrated for Kerberos",
        ),
        ("postgres://u@h?auth=managed-identity", "password-file=PATH"),
        ("sqlserver://u@h?auth=windows", "auth=integrated"),
    ] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.hint().contains(wanted), "{text}: {error}: {}", error.hint());
    }
}

/// A Windows account needs a library of the system, which portable builds do without.
#[test]
fn a_windows_account_is_for_builds_with_kerberos_and_others_say_so() {
    for text in [
        "sqlserver://h.corp.example?auth=integrated",
        "Server=h.corp.example;Integrated Security=SSPI",
        "Server=h.corp.example;Trusted_Connection=yes",
        "jdbc:sqlserver://h.corp.example;integratedSecurity=true;authenticationScheme=JavaKerberos",
    ] {
        let answer = text.parse::<Address>();
        assert_eq!(answer.is_ok(), cfg!(feature = "kerberos"), "{text}");
        match answer {
            Ok(address) => {
                assert_eq!((address.auth, address.user.as_str()), (Auth::Integrated, ""), "{text}");
            }
            Err(error) => assert!(error.hint().contains("--features kerberos"), "{text}: {}", error.hint()),
        }
    }
}

#[test]
fn an_access_token_among_the_arguments_is_refused_like_a_password() {
    for text in ["sqlserver://h?access_token=hunter2", "jdbc:sqlserver://h;accessToken=hunter2"] {
        let error = text.parse::<Address>().unwrap_err();
        let said = format!("{error} {} {error:?}", error.hint());
        assert!(matches!(error, AddressError::PasswordInUrl { .. }) && !said.contains("hunter2"), "{said}");
    }
}
