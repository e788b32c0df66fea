/* iostall:find_member_name */
SELECT name FROM iostall.member WHERE server = $1;
