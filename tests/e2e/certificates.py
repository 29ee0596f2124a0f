"""A certificate authority of a test, and the certificates that it gives."""

import subprocess

NEW = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]


class Authority:
    def __init__(self, folder):
        self.folder = folder
        self.certificate = folder / "ca.pem"
        subprocess.run([*NEW, "-subj", "/CN=test CA", "-keyout", folder / "ca.key", "-out", self.certificate], check=True,
                       capture_output=True)

    def give(self, *units, address="127.0.0.1"):
        """Options: a certificate with these organizational units, for an address, and its key."""
        name = "-".join(units) or "none"
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        if not certificate.exists():
            subject = f"/CN={name}" + "".join(f"/OU={unit}" for unit in units)
            subprocess.run(
                [*NEW, "-CA", self.certificate, "-CAkey", self.folder / "ca.key", "-subj", subject, "-addext",
                 f"subjectAltName=IP:{address}", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out",
                 certificate], check=True, capture_output=True)
        return ["--tls-cert", certificate, "--tls-key", key]

    def trusting(self):
        return ["--tls-ca", self.certificate]

    def asking(self):
        """Options of a server that wants certificates of clients."""
        return ["--tls-client-ca", self.certificate]
