/** A simulator in each dialect. */
export const OPTIONS_OF_DIALECTS = [{ dialect: 'real' }, { dialect: 'documented' }] as const;
