/** Emitted by a response when its request may be answered: what came before costs little when it is thrown away. */
export const ADMITTED = 'admitted';
/** Emitted by a response when its first bytes are handed to the socket. */
export const SENDING = 'sending';
