/* iostall:names_without_encoding */
CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'
