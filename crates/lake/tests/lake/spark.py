"""Starts a cluster of Spark with two workers on this machine, and answers queries on the lake with it.

Usage: spark.py JARS QUERIES.json LAKE DIRECTORY JDBC_URL
Prints what each query answers, as JSON.
"""
import glob
import json
import os
import socket
import subprocess
import sys
import time

import pyspark
from pyspark.sql import SparkSession

jars, queries, lake, directory, url = sys.argv[1:]
home = os.path.dirname(pyspark.__file__)
environment = dict(os.environ, SPARK_HOME=home, SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
os.environ.update(environment)


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def start(name, *arguments):
    log = open(os.path.join(directory, "spark-" + name + ".log"), "wb")
    line = [os.path.join(home, "bin/spark-class"), "org.apache.spark.deploy." + arguments[0], *arguments[1:]]
    return subprocess.Popen(line, env=environment, stdout=log, stderr=log)


port, page = free_port(), free_port()
master = "spark://127.0.0.1:%d" % port
processes = [start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))]
try:
    for worker in ("1", "2"):
        work = os.path.join(directory, "work" + worker)
        processes.append(
            start("worker" + worker, "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g",
                  "--webui-port", str(free_port()), "--work-dir", work, master)
        )
    for _ in range(600):
        log = open(os.path.join(directory, "spark-master.log"), errors="replace").read()
        workers = log.count("Registering worker")
        if workers == 2:
            break
        time.sleep(0.2)
    builder = SparkSession.builder.master(master).appName("lake")
    settings = {
        "spark.jars": ",".join(glob.glob(jars + "/*.jar")),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalog.iostall": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.iostall.type": "jdbc",
        "spark.sql.catalog.iostall.uri": url,
        "spark.sql.catalog.iostall.jdbc.schema-version": "V1",
        "spark.sql.catalog.iostall.jdbc.user": "postgres",
        "spark.sql.catalog.iostall.warehouse": "file://" + lake,
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sql("USE iostall.fleet")
    answers = {"workers": workers}
    for name, sql in json.load(open(queries)).items():
        rows = spark.sql(sql.rstrip().rstrip(";")).collect()
        answers[name] = [[str(value) for value in row] for row in rows]
    spark.stop()
    print(json.dumps(answers))
finally:
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        process.wait()
