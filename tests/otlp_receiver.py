"""A receiver of OTLP for tests: decodes requests with the official messages, and writes each point as a line of JSON.

    otlp_receiver.py http|https PLACE TOKEN FAILURES

The port is in PLACE/port, the points are in PLACE/points. The first FAILURES requests are answered with "unavailable", and so
are requests without the token. For https, PLACE has cert.pem and key.pem.
"""

import http.server
import json
import ssl
import sys
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

kind, place, token, failures = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def is_unavailable(authorization):
    global failures
    failures -= 1
    return failures >= 0 or authorization != f"Bearer {token}"


def texts(attributes):
    return {one.key: one.value.string_value for one in attributes}


def write(request):
    with open(place / "points", "a", encoding="utf-8") as file:
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data")
                    data = getattr(metric, kind)
                    for point in data.data_points:
                        line = {
                            "resource": texts(resource.resource.attributes),
                            "scope": scope.scope.name,
                            "name": metric.name,
                            "unit": metric.unit,
                            "kind": kind,
                            "temporality": getattr(data, "aggregation_temporality", 0),
                            "monotonic": getattr(data, "is_monotonic", False),
                            "attributes": texts(point.attributes),
                            "start": point.start_time_unix_nano,
                            "time": point.time_unix_nano,
                            "flags": point.flags,
                        }
                        if kind == "exponential_histogram":
                            for name in ("count", "sum", "min", "max", "scale", "zero_count"):
                                line[name] = getattr(point, name)
                            line["offset"] = point.positive.offset
                            line["counts"] = list(point.positive.bucket_counts)
                        else:
                            line["value"] = point.as_double
                        file.write(json.dumps(line) + "\n")


class OverHttp(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_right = self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/x-protobuf"
        answer = b""
        if not is_right:
            status = 400
        elif is_unavailable(self.headers["Authorization"]):
            status = 503
        else:
            status = 200
            write(metrics_service_pb2.ExportMetricsServiceRequest.FromString(body))
            answer = metrics_service_pb2.ExportMetricsServiceResponse().SerializeToString()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def tell(port):
    (place / "port.new").write_text(str(port))
    (place / "port.new").rename(place / "port")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OverHttp)
if kind == "https":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "cert.pem", place / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
tell(server.server_address[1])
server.serve_forever()
