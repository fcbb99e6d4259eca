// The reference server that has everything, over HTTP on a free port of this machine; the first line on standard output is the address.
//
//     everything_over_http.mjs streamableHttp PROGRAM

import { Server } from "node:net";
import { pathToFileURL } from "node:url";

// It would listen on a fixed port, and many tests run at once.
const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ready) {
  return listen.call(this, 0, "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${this.address().port}/mcp`);
    // Nobody reads what it says afterwards.
    console.log = () => {};
    ready?.();
  });
};

await import(pathToFileURL(process.argv[3]));
