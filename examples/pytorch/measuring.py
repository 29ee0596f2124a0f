"""What inference.py and client.py do alike to be measured."""

import json


def add_options(parser):
    parser.add_argument("--inferences", type=int, default=5, metavar="N")
    parser.add_argument("--json", metavar="FILE", help='what each took: {"latency_ms": [...]}')
    parser.add_argument("--ready-after", type=int, metavar="N",
                        help='after N inferences print "ready" and wait for a line, to be measured from there')


def wait_to_be_measured(options, inference):
    if inference == options.ready_after:
        print("ready", flush=True)
        input()


def write_times(options, latencies):
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"latency_ms": latencies}, file)
