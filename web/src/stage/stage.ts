// The stage: the network of a run, and what moves in it.

import type { Request } from "../protocol.ts";

/** Makes the stage in `host`, for the run of `request` when it is started. */
export function mountStage(host: HTMLElement, request: () => Request): void {
  void host;
  void request;
}
