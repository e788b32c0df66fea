/* iostall:mariadb_fill */
CREATE DATABASE `fill`;
CREATE TABLE `fill`.plain (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=InnoDB;
CREATE TABLE `fill`.zip (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
CREATE TABLE `fill`.packed (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=InnoDB PAGE_COMPRESSED=1;
CREATE TABLE `fill`.old (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=MyISAM;
CREATE TABLE `fill`.crash_safe (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=Aria;
USE `fill`;
INSERT INTO `fill`.plain SELECT seq, CONCAT(seq, REPEAT(MD5(seq), 10)) FROM seq_1_to_20000;
INSERT INTO `fill`.zip SELECT * FROM `fill`.plain;
INSERT INTO `fill`.packed SELECT * FROM `fill`.plain;
INSERT INTO `fill`.old SELECT * FROM `fill`.plain WHERE id <= 1000;
INSERT INTO `fill`.crash_safe SELECT * FROM `fill`.plain WHERE id <= 1000;
