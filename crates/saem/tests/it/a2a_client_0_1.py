"""python-a2a, which speaks tasks/send in its own way, talks with the agent for kits; every line says what holds."""

import json
import sys

from python_a2a import A2AClient

BASE = sys.argv[1]


def check(name, holds, seen=""):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": str(seen)[:300]}), flush=True)


agent = A2AClient(BASE)
check("card", agent.agent_card.name == "Saem", agent.agent_card)
answer = agent.ask("tck-artifact-text please")
check("ask", answer == "Generated text content", answer)
again = agent.ask("tck-artifact-text again")
check("ask again", again == "Generated text content", again)
