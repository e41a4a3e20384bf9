<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Usage</xsl:variable>
<xsl:variable name="here">/web/usage</xsl:variable>
<xsl:variable name="by"><xsl:choose>
	<xsl:when test="/page/asked/@by"><xsl:value-of select="/page/asked/@by"/></xsl:when>
	<xsl:otherwise>account</xsl:otherwise>
</xsl:choose></xsl:variable>

<xsl:template name="content">
	<ul class="tabs">
		<xsl:call-template name="by-tab"><xsl:with-param name="value">account</xsl:with-param><xsl:with-param name="text">By allocation project</xsl:with-param></xsl:call-template>
		<xsl:call-template name="by-tab"><xsl:with-param name="value">cluster</xsl:with-param><xsl:with-param name="text">By compute resource</xsl:with-param></xsl:call-template>
		<xsl:call-template name="by-tab"><xsl:with-param name="value">user</xsl:with-param><xsl:with-param name="text">By submitter</xsl:with-param></xsl:call-template>
	</ul>
	<p>From <xsl:value-of select="usage/@start"/> up to <xsl:value-of select="usage/@end"/> (not included).
	Equivalents count a job by the largest of its shares of cores, memory and GPUs, so that they exceed plain core-years
	where memory decided.</p>
	<form method="get" action="/web/usage" class="filter">
		<input type="hidden" name="by" value="{$by}"/>
		<label>From <input type="date" name="start" value="{asked/@start}"/></label>
		<label>to, not included, <input type="date" name="end" value="{asked/@end}"/></label>
		<label>Account <input name="account" size="12" value="{asked/@account}"/></label>
		<button type="submit">Show</button>
	</form>
	<xsl:choose>
		<xsl:when test="usage/rows/item"><xsl:call-template name="rows"/></xsl:when>
		<xsl:otherwise><p class="none">Nothing was charged in this period.</p></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="by-tab">
	<xsl:param name="value"/>
	<xsl:param name="text"/>
	<li><a href="/web/usage?by={$value}&amp;start={f:encode(asked/@start)}&amp;end={f:encode(asked/@end)}&amp;account={f:encode(asked/@account)}">
		<xsl:if test="$value = $by"><xsl:attribute name="aria-current">page</xsl:attribute></xsl:if>
		<xsl:value-of select="$text"/></a></li>
</xsl:template>

<xsl:template name="rows">
	<xsl:variable name="largest">
		<xsl:for-each select="usage/rows/item">
			<xsl:sort select="@counts_ms" data-type="number" order="descending"/>
			<xsl:if test="position() = 1"><xsl:value-of select="@counts_ms"/></xsl:if>
		</xsl:for-each>
	</xsl:variable>
	<xsl:variable name="has-allotted" select="usage/rows/item/@allotted_ms"/>
	<div class="scroll" tabindex="0" role="region" aria-label="Usage">
	<table>
		<thead><tr>
			<xsl:if test="usage/rows/item/@account"><xsl:call-template name="head"><xsl:with-param name="by">account</xsl:with-param><xsl:with-param name="text">Account</xsl:with-param></xsl:call-template></xsl:if>
			<xsl:if test="usage/rows/item/@user"><xsl:call-template name="head"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="text">User</xsl:with-param></xsl:call-template></xsl:if>
			<xsl:if test="usage/rows/item/@cluster"><xsl:call-template name="head"><xsl:with-param name="by">cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template></xsl:if>
			<th scope="col">Pool</th>
			<xsl:call-template name="head"><xsl:with-param name="by">jobs_started</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">counts_ms</xsl:with-param><xsl:with-param name="text">Counts, equivalent hours</xsl:with-param></xsl:call-template>
			<th scope="col" class="figure">Equivalent-years</th>
			<xsl:call-template name="head"><xsl:with-param name="by">core_ms</xsl:with-param><xsl:with-param name="text">Core-years</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">gpu_ms</xsl:with-param><xsl:with-param name="text">GPU-years</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">charge_used_ms</xsl:with-param><xsl:with-param name="text">As used, hours</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:if test="$has-allotted">
				<th scope="col" class="figure">Allotted, hours</th><th scope="col" class="figure">Used of it</th>
				<th scope="col" class="figure">Projected, hours</th>
			</xsl:if>
		</tr></thead>
		<tbody><xsl:apply-templates select="usage/rows/item" mode="usage">
			<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
			<xsl:with-param name="largest" select="$largest"/>
			<xsl:with-param name="has-allotted" select="$has-allotted"/>
		</xsl:apply-templates></tbody>
		<tfoot><xsl:apply-templates select="usage/totals/item" mode="usage">
			<xsl:with-param name="has-allotted" select="$has-allotted"/>
		</xsl:apply-templates></tfoot>
	</table>
	</div>
</xsl:template>

<!-- The first cell of the row of totals; its other names are empty. -->
<xsl:template name="or-total">
	<xsl:param name="text"/>
	<xsl:choose>
		<xsl:when test="parent::rows"><xsl:value-of select="$text"/></xsl:when>
		<xsl:when test="not(/page/usage/rows/item/@account)">Total</xsl:when>
	</xsl:choose>
</xsl:template>

<xsl:template match="item" mode="usage">
	<xsl:param name="largest"/>
	<xsl:param name="has-allotted"/>
	<tr>
		<xsl:if test="@account or (parent::totals and /page/usage/rows/item/@account)"><th scope="row"><xsl:choose>
			<xsl:when test="parent::totals">Total</xsl:when>
			<xsl:when test="parent::rows"><a href="/web/usage?by=user&amp;account={f:encode(@account)}&amp;start={f:encode(/page/asked/@start)}&amp;end={f:encode(/page/asked/@end)}"><xsl:value-of select="@account"/></a></xsl:when>
			<xsl:otherwise><xsl:value-of select="@account"/></xsl:otherwise>
		</xsl:choose></th></xsl:if>
		<xsl:if test="/page/usage/rows/item/@user"><th scope="row"><xsl:call-template name="or-total"><xsl:with-param name="text" select="@user"/></xsl:call-template></th></xsl:if>
		<xsl:if test="/page/usage/rows/item/@cluster"><th scope="row"><xsl:call-template name="or-total"><xsl:with-param name="text" select="@cluster"/></xsl:call-template></th></xsl:if>
		<td><xsl:value-of select="@pool"/></td>
		<td class="figure"><xsl:value-of select="f:count(@jobs_started)"/></td>
		<td><span class="pair"><xsl:value-of select="f:hours(@counts_ms)"/></span>
			<xsl:if test="$largest"><xsl:call-template name="bar">
				<xsl:with-param name="part" select="@counts_ms"/>
				<xsl:with-param name="whole" select="number($largest)"/>
			</xsl:call-template></xsl:if></td>
		<td class="figure"><xsl:value-of select="f:years(@counts_ms)"/></td>
		<td class="figure"><xsl:value-of select="f:years(@core_ms)"/></td>
		<td class="figure"><xsl:value-of select="f:years(@gpu_ms)"/></td>
		<td class="figure"><xsl:value-of select="f:hours(@charge_used_ms)"/></td>
		<xsl:if test="$has-allotted">
			<td class="figure"><xsl:value-of select="f:hours(@allotted_ms)"/></td>
			<td class="figure"><xsl:value-of select="f:percent(@counts_ms, @allotted_ms)"/></td>
			<td class="figure"><xsl:value-of select="f:hours(@projected_ms)"/></td>
		</xsl:if>
	</tr>
</xsl:template>
</xsl:stylesheet>
