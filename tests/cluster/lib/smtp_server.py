#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""smtp_server.py PORT FILE - an SMTP server that writes each mail it accepts to FILE, one JSON document a line: who sent it to whom, and
what a mail program reads of it. It answers 451 while FILE.busy is there, 550 to recipients that begin with "gone"."""
import asyncio
import email
import email.policy
import json
import os
import sys

from aiosmtpd.controller import Controller


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("gone"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if os.path.exists(sys.argv[2] + ".busy"):
            return "451 come back later"
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        with open(sys.argv[2], "a") as f:
            f.write(json.dumps({"sender": envelope.mail_from, "to": envelope.rcpt_tos, "headers": [k for k, _ in mail.items()],
                                "subject": mail["Subject"], "header_to": mail["To"], "text": mail.get_content(), "defects": len(mail.defects),
                                "longest": max(len(line) for line in envelope.content.splitlines()),
                                "is_ascii": envelope.content.isascii()}) + "\n")
        return "250 OK"


Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1])).start()
asyncio.new_event_loop().run_forever()
