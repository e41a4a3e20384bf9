<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Quotas</xsl:variable>
<xsl:variable name="here">/web/quota</xsl:variable>

<xsl:template name="content">
	<xsl:if test="not(quota/quotas/item)"><p class="none">No account of yours has a quota.</p></xsl:if>
	<xsl:for-each select="quota/quotas/item">
		<section>
			<h2><xsl:value-of select="@account"/><xsl:if test="@cluster"> on <xsl:value-of select="@cluster"/></xsl:if>
				<xsl:if test="@pool"> (<xsl:value-of select="@pool"/>)</xsl:if></h2>
			<p class="sentence"><xsl:value-of select="@words"/></p>
			<xsl:if test="months/item"><xsl:call-template name="months"/></xsl:if>
		</section>
	</xsl:for-each>
</xsl:template>

<xsl:template name="months">
	<div class="scroll" tabindex="0" role="region" aria-label="Months of {@account}, {@pool}"><table class="narrow">
		<thead><tr><th scope="col">Month</th><th scope="col" class="figure">Allowed</th><th scope="col">Used</th></tr></thead>
		<tbody><xsl:for-each select="months/item">
			<tr><th scope="row"><xsl:value-of select="@month"/></th><td class="figure"><xsl:value-of select="f:hours(@allowed_ms)"/></td>
			<td><span class="pair"><xsl:value-of select="f:hours(@used_ms)"/></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@used_ms"/><xsl:with-param name="whole" select="@allowed_ms"/></xsl:call-template></td></tr>
		</xsl:for-each></tbody>
	</table></div>
</xsl:template>
</xsl:stylesheet>
