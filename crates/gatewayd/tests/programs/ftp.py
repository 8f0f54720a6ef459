"""An FTP session with Python's client: HOST PORT FOLDER NAME active|passive. Prints what it saw as JSON.

Lists `pub`, stores `pub/file` as FOLDER/NAME, and sends FOLDER/upload to `incoming/NAME`.
"""

import ftplib
import json
import os
import sys


class Client(ftplib.FTP):
    """Notes the other end of each data connection."""

    def __init__(self, timeout):
        self.others = []
        super().__init__(timeout=timeout)

    def ntransfercmd(self, cmd, rest=None):
        connection, size = super().ntransfercmd(cmd, rest)
        self.others.append(connection.getpeername()[:2])
        return connection, size


host, port, folder, name, mode = sys.argv[1:]
client = Client(timeout=20)
client.connect(host, int(port))
client.login()
client.set_pasv(mode == "passive")
names = [os.path.basename(path) for path in client.nlst("pub")]
lines = []
client.retrlines("LIST pub", lines.append)
with open(os.path.join(folder, name), "wb") as file:
    client.retrbinary("RETR pub/file", file.write)
with open(os.path.join(folder, "upload"), "rb") as file:
    client.storbinary(f"STOR incoming/{name}", file)
client.quit()
json.dump({"names": names, "lines": lines, "others": client.others}, sys.stdout)
